// Rule: latches, which count down once and open for all who wait (docs/latches.md).
//
//   call        the latch    what it has left   then
//   create      none                            it is there, with its count; true
//   create      is there     any                nothing; false
//   countDown   none                            nothing; null
//   countDown   is there     more than `by`     less by that; the rest is the answer
//   countDown   is there     1 to `by`          0: it is open, and all who wait pass in this entry; 0
//   countDown   is there     0                  nothing: an open latch stays open; 0
//   wait        none                            nothing; 'absent'
//   wait        is there     0                  nothing; 'passed'
//   wait        is there     more, not waiting  the party waits; ERR_BUSY where there is no room
//   wait        is there     more, waits        its session and its wait are those of this call
//   wait        any          it has an end      nothing; the end that it has (K70)
//   remove      none                            nothing; false
//   remove      is there     any                it is gone, and all who wait hear it; true
//
// Laws: K70, K71 (parties.ts). An open latch never closes: a latch of the same name that is created after its
// removal is another one.

import type { PartyCommand, PartyResult, PARTY_OP } from '@latchkey/protocol'
import { PARTIES_FULL, type Refused, LATCHES_FULL } from '../commands/answers.js'
import type { InTurns, Turn } from './apply-turn.js'
import { endAll, LATCH, partyOf } from './party-ends.js'
import type { PartyRow, PartyTransaction } from './party-transaction.js'

type Of<Name extends keyof typeof PARTY_OP> = Extract<
  PartyCommand,
  readonly [(typeof PARTY_OP)[Name], ...unknown[]]
>

export function createLatch(tx: PartyTransaction, [, name, count]: Of<'createLatch'>): boolean | Refused {
  if (tx.latch(name) !== undefined) return false
  return tx.putLatch(name, count) ? true : LATCHES_FULL
}

export function* countDown(
  tx: PartyTransaction,
  turn: Turn,
  [, name, by]: Of<'countDown'>,
): InTurns<number | null> {
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
  [, name, id, wait]: Of<'waitLatch'>,
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
  turn: Turn,
  [, name]: Of<'removeLatch'>,
): InTurns<boolean> {
  if (tx.latch(name) === undefined) return false
  tx.deleteLatch(name)
  yield* endAll(turn, tx, tx.waiting(LATCH, name), removed)
  return true
}

const removed = (row: PartyRow): PartyRow => ({ ...row, state: 'removed' })
