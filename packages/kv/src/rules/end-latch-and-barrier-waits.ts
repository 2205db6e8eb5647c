// Rule: ends the waits of many parties (waiting calls) at a latch or barrier, a limited number in one turn of
// the event loop. Also returns the state of one party.

import { PARTY_OF, type PartyOf, type PartyResult } from '@latchkey/protocol'
import type { WorkOfTurn } from './work-limit-per-event-loop-turn.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'
import type { PartyRow, PartyTransaction, PartyView } from './latch-and-barrier-tables.js'

export const LATCH = PARTY_OF.latch
export const BARRIER = PARTY_OF.barrier

/**
 * Returns the state of a party. The last number of the result is the count of the latch, or the number of
 * parties that wait at the barrier.
 */
export function partyOf(view: PartyView, of: PartyOf, name: Uint8Array, id: string): PartyResult {
  const row = view.party(of, name, id)
  const count = of === LATCH ? (view.latch(name) ?? 0) : view.waitingCount(of, name)
  return row === undefined ? ['unknown', 0, 0, count] : [row.state, row.generation, row.index, count]
}

/** In bytes, about the length of a party's row without its name. */
const ROW_BYTES = 64

/** Ends the waits of `rows`. `to` returns the new row of a party, with the result of its wait. */
export function* endAll(
  turn: WorkOfTurn,
  tx: PartyTransaction,
  rows: readonly PartyRow[],
  to: (row: PartyRow, index: number) => PartyRow,
): WorkInTurns<undefined> {
  for (const [i, row] of rows.entries()) {
    const ended = to(row, i)
    tx.putParty(ended)
    tx.ended(ended)
    turn.row(ROW_BYTES + ended.name.length)
    if (turn.isOver) yield
  }
  return undefined
}
