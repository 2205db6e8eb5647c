// Rule: ends a hold, or a place in the queue, at the request of its owner or of an operator (docs/locks.md,
// sections 3 and 7).

import type { OwnerResult, TicketArg, TicketResult, TryLockResult } from '@latchkey/protocol'
import {
  CODE,
  acquired,
  inForce,
  isSame,
  notHeld,
  notOwner,
  overAt,
  ownerOfHold,
  released,
} from './hold-checks-and-answers.js'
import { holdOf } from './lock-reads.js'
import type { HoldRow, LockTransaction, WaiterRow } from './lock-transaction.js'
import { freeAndGrant, grantNext, heldBy, hold, leave, remove } from './queue.js'

/** A `token` of 0 means that the request has no token. */
export function release(
  tx: LockTransaction,
  key: Uint8Array,
  id: string,
  token: number,
  all: boolean,
): OwnerResult {
  const row = holdOf(tx, key, id) ?? tx.hold(key) ?? tx.shared(key)?.first
  if (row === undefined) return notHeld(id, tx.now)
  if (!isSame(row, id, token)) return notOwner(row, tx.now)
  if (tx.now > overAt(row)) {
    tx.deleteHold(row)
    grantNext(tx, key, CODE.NEW_ACQUIRE)
    return released(row, CODE.EXPIRED, 0, tx.now)
  }
  const left = all ? 0 : row.acquires - 1
  if (left > 0) {
    tx.putHold({ ...row, acquires: left, touchBy: 0 })
    return released(row, CODE.DECREMENTED, left, tx.now)
  }
  freeAndGrant(tx, row)
  return released(row, CODE.RELEASED, 0, tx.now)
}

/**
 * Removes the waiter from the queue. If the waiter was granted the lock before this call, releases the hold.
 * Returns the state before the call.
 */
export function cancelWait(tx: LockTransaction, key: Uint8Array, id: string): TicketResult {
  const waiter = tx.waiter(key, id)
  if (waiter !== undefined) {
    leave(tx, waiter)
    return ['queued', null]
  }
  const row = holdOf(tx, key, id)
  if (row === undefined) return ['unknown', null]
  const before: TicketResult = inForce(row, tx.now)
    ? ['granted', ownerOfHold(row, tx.now)]
    : ['unknown', null]
  release(tx, key, id, row.token, true)
  return before
}

/**
 * Cancels or releases every ticket of the list. Returns for each ticket the token of its released hold, or 0.
 *
 * Law: all holds and waits of the list end before any lock is granted again. Without this law: a caller waits
 * for two of the locks, and a later caller waits for the first lock alone. The first lock is granted again
 * before the hold of the second lock has ended, so the later caller overtakes the earlier caller.
 */
export function releaseAll(tx: LockTransaction, list: readonly TicketArg[]): number[] {
  const changed: [key: Uint8Array, code: number][] = []
  const tokens = list.map(([key, id]) => {
    const waiter = tx.waiter(key, id)
    const row = waiter === undefined ? holdOf(tx, key, id) : undefined
    for (const left of waiter === undefined ? [] : remove(tx, waiter)) changed.push([left, CODE.FIRST_TIME])
    if (row === undefined) return 0
    const wasInForce = inForce(row, tx.now)
    tx.deleteHold(row)
    if (wasInForce) tx.happened('released', row)
    changed.push([key, wasInForce ? CODE.FIRST_TIME : CODE.NEW_ACQUIRE])
    return wasInForce ? row.token : 0
  })
  for (const [key, code] of changed) grantNext(tx, key, code)
  return tokens
}

export function forceRelease(tx: LockTransaction, key: Uint8Array, token: number): boolean {
  const exclusive = tx.hold(key)
  const row = exclusive?.token === token ? exclusive : tx.sharedHoldWith(key, token)
  if (!inForce(row, tx.now)) return false
  tx.taken(row)
  freeAndGrant(tx, row)
  return true
}

/** Changes the number of permits. If the number falls, no holder loses a permit. */
export function resize(tx: LockTransaction, key: Uint8Array, of: number): true {
  tx.setPermits(key, of)
  grantNext(tx, key, CODE.FIRST_TIME)
  return true
}

/**
 * Ends every hold of a web lock and gives the lock to the caller alone. The caller overtakes all waiters,
 * which continue to wait. The former holders learn from their next renewal that the lock was stolen.
 */
export function steal(
  tx: LockTransaction,
  session: number,
  ask: Pick<WaiterRow, 'key' | 'id' | 'lease' | 'context'>,
): TryLockResult {
  const exclusive = tx.hold(ask.key)
  if (exclusive !== undefined) end(tx, exclusive)
  for (let next = tx.shared(ask.key); next !== undefined; next = tx.shared(ask.key)) end(tx, next.first)
  const terms = { ...ask, fencingKey: null, permits: 0, flow: null, within: [] }
  const row = heldBy(tx, terms, session, CODE.FIRST_TIME, 0)
  hold(tx, row)
  return [acquired(row, CODE.FIRST_TIME, tx.now), false]
}

function end(tx: LockTransaction, row: HoldRow): void {
  tx.deleteHold(row)
  if (inForce(row, tx.now)) tx.taken(row)
  tx.happened('released', row)
}
