// Driver: gives the results of ended waits at latches and barriers to the member, which sends the results to
// the clients.
//
// Law: one turn of the event loop passes on only a limited number of results. Without this law, a latch opens
// for ten thousand clients, and the leader sends ten thousand frames before its next heartbeat.

import type { PartyResult, PartyTicket } from '@latchkey/protocol'
import type { PartyRow } from './rules/latch-and-barrier-tables.js'

const RESULTS_A_TURN = 500

export class EndedWaits {
  readonly #ended: ((session: number, ticket: PartyTicket, result: PartyResult) => void) | undefined
  readonly #nextTurn: (run: () => void) => void
  #waiting: (readonly PartyRow[])[] = []
  #at = 0
  #isPassing = false

  constructor(
    ended: ((session: number, ticket: PartyTicket, result: PartyResult) => void) | undefined,
    nextTurn: (run: () => void) => void,
  ) {
    this.#ended = ended
    this.#nextTurn = nextTurn
  }

  /**
   * Passes on the results of the ended waits, in their order. If no earlier result still waits, the first
   * results are passed on in this turn of the event loop.
   */
  pass(rows: readonly PartyRow[]): void {
    if (rows.length === 0 || this.#ended === undefined) return
    this.#waiting.push(rows)
    if (!this.#isPassing) this.#passSome()
  }

  #passSome(): void {
    for (let left = RESULTS_A_TURN; left > 0; left--) {
      const row = this.#next()
      if (row === undefined) {
        this.#isPassing = false
        return
      }
      const { of, name, id, session, state, generation, index } = row
      this.#ended?.(session, [of, name, id], [state, generation, index, 0])
    }
    this.#isPassing = true
    this.#nextTurn(() => this.#passSome())
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
