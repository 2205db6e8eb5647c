// Rule: decides what happens at barriers. A barrier is a point where a given number of parties (waiting
// calls) wait for each other, and all continue together. A barrier can be used again, and each use is one
// generation (docs/latches.md).
//
//   parties that wait     the new call                  result
//   none                  names 1 party                 The call passes at once, in the next generation.
//   none                  names more parties            The next generation begins, and the call waits.
//   some                  repeats a waiting call        The wait gets the session and time limit of this call.
//   some                  names another number          'mismatch', with the number that the others named
//   some, not enough yet  names the same number         The call waits, or ERR_BUSY (too many parties).
//   all others            names the same number         All pass in this entry, in the order of arrival.
//   any                   repeats a call whose wait     The call gets the result of that wait again (K70).
//                         has ended
//
//   why a party stops waiting                            its generation
//   Its session has ended.                               is broken: the others get 'broken'
//   Its time limit has passed, or its signal aborts.     continues without this party
//
// Laws
// - K72: if the session of a party ends, the same entry removes its parties, and gives the other parties of
//   their generation the result 'broken'. Without this law: one of three workers crashes, and the two others
//   wait for ever.
// - K73: no party passes before its generation is complete. All parties of a generation pass in one entry,
//   with the number of the generation and the indexes 0 to parties - 1. No generation has the number of an
//   earlier one, not even of a broken one. Without this law: a worker of a broken generation and a worker of
//   the next generation get the same number, and do the same work.

import type { PartyResult, CommandOf } from '@latchkey/protocol'
import { BARRIERS_FULL, PARTIES_FULL, Refused } from '../commands/answer-encoding.js'
import type { WorkOfTurn } from './work-limit-per-event-loop-turn.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'
import { BARRIER, endAll, partyOf } from './end-latch-and-barrier-waits.js'
import type { BarrierRow, PartyRow, PartyTransaction } from './latch-and-barrier-tables.js'

export function* enterBarrier(
  tx: PartyTransaction,
  turn: WorkOfTurn,
  now: number,
  session: number,
  [, name, id, parties, wait]: CommandOf<'enterBarrier'>,
): WorkInTurns<PartyResult | Refused> {
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

/**
 * Returns the row of the barrier. If no party waits at the barrier, a new generation begins first. Returns a
 * refusal if the store has too many barriers in use.
 */
function begun(tx: PartyTransaction, name: Uint8Array, parties: number): BarrierRow | Refused {
  const row = tx.barrier(name)
  if (row !== undefined && tx.waitingCount(BARRIER, name) > 0) return row
  const next = { name, over: row?.over ?? 0, parties, used: tx.nextArrival() }
  return tx.putBarrier(next) ? next : BARRIERS_FULL
}

/**
 * Ends the generation, because the last missing party has arrived. This party needs no row, because the
 * answer to its command reports that the party has passed.
 */
function* complete(tx: PartyTransaction, turn: WorkOfTurn, barrier: BarrierRow): WorkInTurns<PartyResult> {
  const { name, over, parties } = barrier
  const generation = over + 1
  tx.putBarrier({ ...barrier, over: generation })
  yield* endAll(turn, tx, tx.waiting(BARRIER, name), (row, index) => ({ ...row, state: 'passed', index }))
  return ['passed', generation, parties - 1, 0]
}

/**
 * Ends the present generation, because the session of one of its parties has ended (K72). The caller has
 * already removed that party.
 */
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
