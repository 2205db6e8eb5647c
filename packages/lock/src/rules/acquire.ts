// Rule: decides acquires (tryLockWith) and renewals. The table in docs/locks.md, section 2, has the cases.

import type {
  ErrorCode,
  OwnerResult,
  RenewalArg,
  RenewResult,
  TryLockResult,
  CommandOf,
} from '@latchkey/protocol'
import { circleOf } from './deadlock-detection.js'
import {
  CODE,
  acquired,
  inForce,
  isSame,
  keepLeaseFailed,
  notHeld,
  overAt,
  refusedBehind,
  refusedHeld,
} from './hold-checks-and-answers.js'
import { holderOf } from './lock-reads.js'
import type { HoldRow, LockTransaction } from './lock-transaction.js'
import { type Ask, enqueue, heldBy, hold, NO_FLOW } from './queue.js'
import { firstNotPassed, fits } from './waiting-key-sets.js'

interface TryLock extends Ask {
  readonly keepLease: boolean
  readonly token: number
  /**
   * In ms: how long the caller waits in the queue. 0 means no limit. null means that the caller does not
   * wait.
   */
  readonly wait: number | null
}

/** If the answer is an error code, nothing was written. */
type TryLockAnswer = TryLockResult | ErrorCode

export function tryLock(tx: LockTransaction, session: number, command: CommandOf<'tryLock'>): TryLockAnswer {
  const [, key, fencingKey, keepLease, id, lease, token, context, wait, share = null, by = NO_FLOW] = command
  const permits = share === null ? 0 : share[0]
  const [flow, within] = by
  if (share !== null && share[1] > 0) {
    const present = tx.permitsOf(key)
    if (present === undefined) tx.setPermits(key, share[1])
    else if (present !== share[1]) return [notHeld(id, tx.now), false, ['mismatch', present]]
  }
  const ask = { key, fencingKey, keepLease, id, lease, token, context, wait, permits, flow, within }
  return decide(tx, session, ask)
}

/**
 * Runs many renewals in one command, in the order of the list. Each renewal is a tryLockWith with keepLease.
 *
 * The answers carry no contexts, because the contexts of thousands of holds would make one answer too large.
 *
 * The answer has the short form of RenewResult, because one command may renew 2,048 holds. An owner object
 * for each hold would take much more time.
 */
export function renew(tx: LockTransaction, list: CommandOf<'renew'>[1]): RenewResult {
  const items: (OwnerResult | number)[] = []
  for (const one of list) items.push(renewOne(tx, one))
  return [tx.now, items]
}

/**
 * Renews one hold. The function reads the parts of `one` by index. A destructuring pattern would use an
 * iterator, which is slow until V8 has optimized the function.
 */
function renewOne(tx: LockTransaction, one: RenewalArg): OwnerResult | number {
  const key = one[0]
  const id = one[1]
  const token = one[2]
  const lease = one[3]
  const exclusive = tx.hold(key)
  const row = inForce(exclusive, tx.now) ? exclusive : tx.sharedHold(key, id)
  if (!inForce(row, tx.now)) return bare(keepLeaseFailed(exclusive, id, tx.now))
  if (!isSame(row, id, token)) return bare(refusedHeld(row, tx.now))
  const kept = prolong(tx, row, lease)
  const asAsked = kept.token === token && kept.acquires === 1
  return asAsked ? overAt(kept) - tx.now : bare(acquired(kept, CODE.KEEP_LEASE, tx.now))
}

const bare = ([id, deadline, remaining, token, acquires, , code, now]: OwnerResult): OwnerResult => [
  id,
  deadline,
  remaining,
  token,
  acquires,
  null,
  code,
  now,
]

function decide(tx: LockTransaction, session: number, ask: TryLock): TryLockAnswer {
  const exclusive = tx.hold(ask.key)
  if (inForce(exclusive, tx.now)) {
    if (!isSame(exclusive, ask.id, ask.token)) return refuse(tx, session, ask, exclusive)
    return again(tx, exclusive, ask)
  }
  const own = tx.sharedHold(ask.key, ask.id)
  if (own !== undefined) {
    return isSame(own, ask.id, ask.token) ? again(tx, own, ask) : [refusedHeld(own, tx.now), false]
  }
  if (ask.keepLease) return [keepLeaseFailed(exclusive, ask.id, tx.now), false]
  if (!isFree(tx, ask)) return refuse(tx, session, ask, holderOf(tx, ask.key))
  return [take(tx, session, ask, exclusive === undefined ? CODE.FIRST_TIME : CODE.NEW_ACQUIRE), false]
}

/**
 * A waiter that nobody may overtake blocks the request, even if the new hold would be compatible with the
 * present holds.
 */
const isFree = (tx: LockTransaction, ask: TryLock): boolean =>
  firstNotPassed(tx, ask.key) === undefined && fits(tx, ask.key, ask.permits)

/**
 * Answers a caller that already holds the lock. A holder that asks for another mode, or for another number of
 * permits, is refused, because the holder would wait for itself.
 */
function again(tx: LockTransaction, own: HoldRow, ask: TryLock): TryLockAnswer {
  if (ask.keepLease) return [keep(tx, own, ask.lease), false]
  const isSameMode = own.permits === ask.permits
  return isSameMode ? [reenter(tx, own, ask), false] : [refusedHeld(own, tx.now), false, ['deadlock']]
}

function take(tx: LockTransaction, session: number, ask: TryLock, code: number): OwnerResult {
  const row = heldBy(tx, ask, session, code, 0)
  hold(tx, row)
  return acquired(row, code, tx.now)
}

const keep = (tx: LockTransaction, row: HoldRow, lease: number): OwnerResult =>
  acquired(prolong(tx, row, lease), CODE.KEEP_LEASE, tx.now)

/**
 * The deadline never moves to an earlier time. A renewal with a short lease must not end a hold earlier than
 * an older answer has promised.
 */
function prolong(tx: LockTransaction, row: HoldRow, lease: number): HoldRow {
  const kept = { ...row, deadline: Math.max(row.deadline, tx.now + lease), touchBy: 0 }
  tx.putHold(kept)
  tx.happened('renewed', kept)
  return kept
}

function reenter(tx: LockTransaction, row: HoldRow, ask: TryLock): OwnerResult {
  const again = {
    ...row,
    deadline: Math.max(row.deadline, tx.now + ask.lease),
    acquires: row.acquires + 1,
    context: ask.context ?? row.context,
    touchBy: 0,
  }
  tx.putHold(again)
  tx.happened('renewed', again)
  return acquired(again, CODE.REENTRANT, tx.now)
}

/**
 * Refuses the request, or puts its caller in the queue. A renewal never queues. An acquirer whose own id has
 * a hold with another token does not queue either, because the acquirer would wait for itself.
 *
 * `row` is a hold that prevents the request. Undefined if waiters prevent the request, and no hold does.
 */
function refuse(tx: LockTransaction, session: number, ask: TryLock, row: HoldRow | undefined): TryLockAnswer {
  const owner =
    row === undefined ? refusedBehind(tx.firstWaiter(ask.key), ask.id, tx.now) : refusedHeld(row, tx.now)
  if (ask.wait === null || ask.keepLease || row?.id === ask.id) return [owner, false]
  const circle = tx.waiter(ask.key, ask.id) === undefined ? circleOf(tx, session, [ask], false) : undefined
  if (circle !== undefined) return [owner, false, ['circle', circle]]
  return enqueue(tx, ask, session, ask.wait) ? [owner, true] : 'ERR_BUSY'
}
