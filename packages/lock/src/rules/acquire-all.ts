// Rule: decides tryLockAll, the command that acquires several locks in one step, all or none (docs/locks.md,
// section 12).
//
// | what the acquirer has at the keys of the set  | answer                                                  |
// |-----------------------------------------------|---------------------------------------------------------|
// | holds in force of all keys                    | held, with their owners; the leases begin again         |
// | holds in force of some keys                   | broken: the client releases the holds that are left     |
// | places in the queues                          | queued, at the same places                              |
// | nothing, and all keys are free                | held: a new hold of each key, each with its token       |
// | nothing, a key is not free, no wait           | refused, with the owner of a key that is not free       |
// | nothing, and its flow would wait for itself   | circle, with the flows and keys of the circle           |
// | nothing, a key is not free, with a wait       | queued at every key, or ERR_BUSY if a queue is full     |

import { CAPS, type ErrorCode, type TryLockAllResult, type CommandOf } from '@latchkey/protocol'
import { circleOf } from './deadlock-detection.js'
import { CODE, acquired, inForce, refusedBehind, refusedHeld } from './hold-checks-and-answers.js'
import { holderOf, holdOf } from './lock-reads.js'
import type { HoldRow, LockTransaction, WaiterRow } from './lock-transaction.js'
import { type Ask, heldBy, hold, join, NO_FLOW } from './queue.js'
import { firstConflict } from './waiting-key-sets.js'

export function tryLockAll(
  tx: LockTransaction,
  session: number,
  command: CommandOf<'tryLockAll'>,
): TryLockAllResult | ErrorCode {
  const [, id, list, fencingKey, lease, context, wait, by = NO_FLOW] = command
  const [flow, within] = by
  const terms = { id, lease, context, fencingKey, flow, within }
  const asks = list.map(([key, permits]): Ask => ({ key, permits, ...terms }))
  const own = asks.map(({ key }) => holdOf(tx, key, id)).filter((row) => inForce(row, tx.now))
  if (own.length === asks.length)
    return ['held', own.map((row) => acquired(renewed(tx, row, lease), CODE.KEEP_LEASE, tx.now))]
  if (own.length > 0) return ['broken', []]
  const places = asks.map(({ key }) => tx.waiter(key, id))
  if (places.some((place) => place !== undefined)) return queuedAgain(tx, session, asks, places, wait)
  const inTheWay = firstConflict(tx, asks)
  if (inTheWay === undefined) return ['held', asks.map((ask) => take(tx, session, ask))]
  if (wait === null) return ['refused', [refusal(tx, inTheWay)]]
  const circle = circleOf(tx, session, asks, true)
  if (circle !== undefined) return ['circle', [], circle]
  if (asks.some(({ key }) => tx.waiterCount(key) >= CAPS.waiters)) return 'ERR_BUSY'
  const arrivals = asks.map(() => tx.nextArrival())
  const [setFirst = 0] = arrivals
  asks.forEach((ask, i) =>
    join(tx, ask, session, wait, { arrival: arrivals[i] as number, setFirst, setCount: asks.length }),
  )
  return ['queued', []]
}

/**
 * Answers a caller that already waits in the queues. A request with other keys, or without a wait, is
 * refused, and the caller keeps its places.
 */
function queuedAgain(
  tx: LockTransaction,
  session: number,
  asks: readonly Ask[],
  places: readonly (WaiterRow | undefined)[],
  wait: number | null,
): TryLockAllResult {
  if (wait === null || places.some((place) => place?.setCount !== asks.length)) return ['refused', []]
  asks.forEach((ask, i) => join(tx, ask, session, wait, places[i] as WaiterRow))
  return ['queued', []]
}

function take(tx: LockTransaction, session: number, ask: Ask) {
  const code = tx.hold(ask.key) === undefined ? CODE.FIRST_TIME : CODE.NEW_ACQUIRE
  const row = heldBy(tx, ask, session, code, 0)
  hold(tx, row)
  return acquired(row, code, tx.now)
}

function renewed(tx: LockTransaction, row: HoldRow, lease: number): HoldRow {
  const kept = { ...row, deadline: Math.max(row.deadline, tx.now + lease), touchBy: 0 }
  tx.putHold(kept)
  tx.happened('renewed', kept)
  return kept
}

function refusal(tx: LockTransaction, { key, id }: Ask) {
  const row = holderOf(tx, key)
  return inForce(row, tx.now) ? refusedHeld(row, tx.now) : refusedBehind(tx.firstWaiter(key), id, tx.now)
}
