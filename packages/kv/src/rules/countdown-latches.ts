// Rule: decides what happens at latches. A latch has a count that only goes down. When the count is zero, the
// latch opens, and all waiting calls pass (docs/latches.md). A party in this table is one waiting call.
//
//   command    the latch  its count        the effect: the answer
//   create     is absent                   The latch is created with its count: true.
//   create     exists     any              nothing: false
//   countDown  is absent                   nothing: null
//   countDown  exists     more than `by`   The count goes down by `by`: the new count.
//   countDown  exists     1 to `by`        The count is 0, and all waiting parties pass in this entry: 0.
//   countDown  exists     0                nothing, because an open latch stays open: 0
//   wait       is absent                   nothing: 'absent'
//   wait       exists     0                nothing: 'passed'
//   wait       exists     more than 0      A new party waits, or ERR_BUSY if there are too many parties.
//   wait       exists     more than 0      A repeated call sets the session and the time limit of its party.
//   wait       any        any              A repeated call whose wait has ended gets that result again (K70).
//   remove     is absent                   nothing: false
//   remove     exists     any              The latch is removed, and all waiting parties get 'removed': true.
//
// Laws: K70 and K71 (latch-and-barrier-waits.ts). An open latch never closes.

import type { PartyResult, CommandOf } from '@latchkey/protocol'
import { PARTIES_FULL, type Refused, LATCHES_FULL } from '../commands/answer-encoding.js'
import type { WorkOfTurn } from './work-limit-per-event-loop-turn.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'
import { endAll, LATCH, partyOf } from './end-latch-and-barrier-waits.js'
import type { PartyRow, PartyTransaction } from './latch-and-barrier-tables.js'

export function createLatch(
  tx: PartyTransaction,
  [, name, count]: CommandOf<'createLatch'>,
): boolean | Refused {
  if (tx.latch(name) !== undefined) return false
  return tx.putLatch(name, count) ? true : LATCHES_FULL
}

export function* countDown(
  tx: PartyTransaction,
  turn: WorkOfTurn,
  [, name, by]: CommandOf<'countDown'>,
): WorkInTurns<number | null> {
  const count = tx.latch(name)
  if (count === undefined) return null
  if (count === 0) return 0
  const left = Math.max(0, count - by)
  tx.putLatch(name, left)
  if (left === 0) yield* endAll(turn, tx, tx.waiting(LATCH, name), passed)
  return left
}

const passed = (row: PartyRow): PartyRow => ({ ...row, state: 'passed' })

export function waitLatch(
  tx: PartyTransaction,
  now: number,
  session: number,
  [, name, id, wait]: CommandOf<'waitLatch'>,
): PartyResult | Refused {
  const before = tx.party(LATCH, name, id)
  if (before !== undefined && before.state !== 'waiting') return partyOf(tx, LATCH, name, id)
  const count = tx.latch(name)
  if (count === undefined) return ['absent', 0, 0, 0]
  if (count === 0) return ['passed', 0, 0, 0]
  if (before === undefined && !tx.hasRoom(LATCH, name)) return PARTIES_FULL
  tx.putParty({
    of: LATCH,
    name,
    id,
    arrival: before?.arrival ?? tx.nextArrival(),
    session,
    deadline: wait === 0 ? 0 : now + wait,
    state: 'waiting',
    generation: 0,
    index: 0,
  })
  return ['waiting', 0, 0, count]
}

export function* removeLatch(
  tx: PartyTransaction,
  turn: WorkOfTurn,
  [, name]: CommandOf<'removeLatch'>,
): WorkInTurns<boolean> {
  if (tx.latch(name) === undefined) return false
  tx.deleteLatch(name)
  yield* endAll(turn, tx, tx.waiting(LATCH, name), removed)
  return true
}

const removed = (row: PartyRow): PartyRow => ({ ...row, state: 'removed' })
