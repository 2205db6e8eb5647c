// Rule: how a party stands, and the end of the waits of many: a limited number in one turn of the event loop.

import { PARTY_OF, type PartyOf, type PartyResult } from '@latchkey/protocol'
import type { InTurns, Turn } from './apply-turn.js'
import type { PartyRow, PartyTransaction, PartyView } from './party-transaction.js'

export const LATCH = PARTY_OF.latch
export const BARRIER = PARTY_OF.barrier

/** How a party stands; `count` is what a latch has still to count, or how many wait at a barrier. */
export function partyOf(view: PartyView, of: PartyOf, name: Uint8Array, id: string): PartyResult {
  const row = view.party(of, name, id)
  const count = of === LATCH ? (view.latch(name) ?? 0) : view.waitingCount(of, name)
  return row === undefined ? ['unknown', 0, 0, count] : [row.state, row.generation, row.index, count]
}

/** About what the row of a party takes besides its name. */
const ROW_BYTES = 64

/** `to`: the row with the end of its wait. */
export function* endAll(
  turn: Turn,
  tx: PartyTransaction,
  rows: readonly PartyRow[],
  to: (row: PartyRow, index: number) => PartyRow,
): InTurns<undefined> {
  for (const [i, row] of rows.entries()) {
    const ended = to(row, i)
    tx.putParty(ended)
    tx.ended(ended)
    turn.row(ROW_BYTES + ended.name.length)
    if (turn.isOver) yield
  }
  return undefined
}
