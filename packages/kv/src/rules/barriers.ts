// Rule: barriers, where a number of parties meet before each goes on; reusable by generations
// (docs/latches.md).
//
//   who waits there        the one that enters       then
//   nobody                 for one party             it passes at once, in the next generation
//   nobody                 for more                  the next generation begins, and it waits
//   some                   waits already             its session and its wait are those of this call
//   some                   for another number        'mismatch', with the number of those who wait
//   some, not all others   for the same number       it waits; ERR_BUSY where there is no room
//   all others             for the same number       all pass in this entry, with the index of their arrival
//   any                    has an end already        the end that it has (K70, parties.ts)
//
//   what ends a party that waits                     the generation
//   its session ends                                 is broken: the others hear it, and the next one begins
//   its wait is over, its signal aborts: it leaves   goes on: the others wait, and its place may be taken again
//
// Laws
// - K72: who waits is alive, as far as its session says. A party whose session ends is taken out in the entry
//   that ends the session, and the rest of its generation hear it in the same entry. Without this law: one of
//   three workers crashes, and the two others wait for it without end.
// - K73: nobody passes before its generation is complete, and all of a generation pass in one entry, with one
//   generation and the indexes 0 to parties - 1. A number of a generation is never used twice, a broken one
//   neither. Without this law: b of a broken generation and c of the next one both have the same number, and
//   each of them does what the other was to do.

import type { PartyCommand, PartyResult, PARTY_OP } from '@latchkey/protocol'
import { BARRIERS_FULL, PARTIES_FULL, Refused } from '../commands/answers.js'
import type { InTurns, Turn } from './apply-turn.js'
import { BARRIER, endAll, partyOf } from './party-ends.js'
import type { BarrierRow, PartyRow, PartyTransaction } from './party-transaction.js'

type EnterBarrier = Extract<PartyCommand, readonly [typeof PARTY_OP.enterBarrier, ...unknown[]]>

export function* enterBarrier(
  tx: PartyTransaction,
  turn: Turn,
  now: number,
  session: number,
  [, name, id, parties, wait]: EnterBarrier,
): InTurns<PartyResult | Refused> {
  const before = tx.party(BARRIER, name, id)
  if (before !== undefined && before.state !== 'waiting') return partyOf(tx, BARRIER, name, id)
  const deadline = wait === 0 ? 0 : now + wait
  if (before !== undefined) {
    tx.putParty({ ...before, session, deadline })
    return partyOf(tx, BARRIER, name, id)
  }
  const barrier = begun(tx, name, parties)
  if (barrier instanceof Refused) return barrier
  const others = tx.waitingCount(BARRIER, name)
  const generation = barrier.over + 1
  if (barrier.parties !== parties) return ['mismatch', generation, 0, barrier.parties]
  if (others + 1 === parties) return yield* complete(tx, turn, barrier)
  if (!tx.hasRoom(BARRIER, name)) return PARTIES_FULL
  const arrival = tx.nextArrival()
  const row = { of: BARRIER, name, id, arrival, session, deadline, generation, index: 0 }
  tx.putParty({ ...row, state: 'waiting' })
  return ['waiting', generation, 0, others + 1]
}

/** The barrier as it is, or with a new generation where nobody waits. */
function begun(tx: PartyTransaction, name: Uint8Array, parties: number): BarrierRow | Refused {
  const row = tx.barrier(name)
  if (row !== undefined && tx.waitingCount(BARRIER, name) > 0) return row
  const next = { name, over: row?.over ?? 0, parties, used: tx.nextArrival() }
  return tx.putBarrier(next) ? next : BARRIERS_FULL
}

/** The last party has come: it has no row, since its own command answers it. */
function* complete(tx: PartyTransaction, turn: Turn, barrier: BarrierRow): InTurns<PartyResult> {
  const { name, over, parties } = barrier
  const generation = over + 1
  tx.putBarrier({ ...barrier, over: generation })
  yield* endAll(turn, tx, tx.waiting(BARRIER, name), (row, index) => ({ ...row, state: 'passed', index }))
  return ['passed', generation, parties - 1, 0]
}

/** The generation is over without having been complete (K72). The party that broke it is out already. */
export function breakGeneration(tx: PartyTransaction, name: Uint8Array): void {
  const barrier = tx.barrier(name)
  if (barrier === undefined) return
  tx.putBarrier({ ...barrier, over: barrier.over + 1 })
  for (const row of tx.waiting(BARRIER, name)) {
    const broken: PartyRow = { ...row, state: 'broken' }
    tx.putParty(broken)
    tx.ended(broken)
  }
}
