// Driver: tells that waits at latches and barriers have ended, a limited number in one turn of the event
// loop.
//
// Law: one turn tells only a limited number. Without this law: a latch opens for ten thousand clients, each
// of them is sent a frame in one turn, and meanwhile the leader sends no heartbeat.

import type { PartyResult, PartyTicket } from '@latchkey/protocol'
import type { PartyRow } from './rules/party-transaction.js'

const TOLD_A_TURN = 500

export class EndedWaits {
  readonly #told: ((session: number, ticket: PartyTicket, result: PartyResult) => void) | undefined
  readonly #nextTurn: (run: () => void) => void
  #waiting: (readonly PartyRow[])[] = []
  #at = 0
  #isTelling = false

  /** `told` undefined: nobody is to be told. */
  constructor(
    told: ((session: number, ticket: PartyTicket, result: PartyResult) => void) | undefined,
    nextTurn: (run: () => void) => void,
  ) {
    this.#told = told
    this.#nextTurn = nextTurn
  }

  /** In the order of the calls. The first ones are told in this turn. */
  tell(rows: readonly PartyRow[]): void {
    if (rows.length === 0 || this.#told === undefined) return
    this.#waiting.push(rows)
    if (!this.#isTelling) this.#tellSome()
  }

  #tellSome(): void {
    for (let left = TOLD_A_TURN; left > 0; left--) {
      const row = this.#next()
      if (row === undefined) {
        this.#isTelling = false
        return
      }
      const { of, name, id, session, state, generation, index } = row
      this.#told?.(session, [of, name, id], [state, generation, index, 0])
    }
    this.#isTelling = true
    this.#nextTurn(() => this.#tellSome())
  }

  #next(): PartyRow | undefined {
    const rows = this.#waiting[0]
    if (rows === undefined) return undefined
    const row = rows[this.#at++]
    if (this.#at < rows.length) return row
    this.#waiting.shift()
    this.#at = 0
    return row
  }
}
