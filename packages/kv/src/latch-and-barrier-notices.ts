// Driver: passes on that waits at latches and barriers have ended, so that the member can send the results to
// the clients.
//
// Law: one turn of the event loop passes on only a limited number of results. Without this law, a latch could
// open for ten thousand clients, and the leader would send a frame to each of them in one turn, without a
// heartbeat meanwhile.

import type { PartyResult, PartyTicket } from '@latchkey/protocol'
import type { PartyRow } from './rules/latch-and-barrier-transaction.js'

const TOLD_A_TURN = 500

export class EndedWaits {
  readonly #told: ((session: number, ticket: PartyTicket, result: PartyResult) => void) | undefined
  readonly #nextTurn: (run: () => void) => void
  #waiting: (readonly PartyRow[])[] = []
  #at = 0
  #isTelling = false

  /** Without the function `told`, nothing is passed on. */
  constructor(
    told: ((session: number, ticket: PartyTicket, result: PartyResult) => void) | undefined,
    nextTurn: (run: () => void) => void,
  ) {
    this.#told = told
    this.#nextTurn = nextTurn
  }

  /**
   * Passes on the ended waits, in the order of the calls, the first of them in this turn of the event loop.
   */
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
