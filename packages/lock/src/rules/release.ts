// Rule: ends a hold or a wait for its owner or for an operator (docs/locks.md, sections 3 and 7).

import type { OwnerResult, TicketArg, TicketResult } from '@latchkey/protocol'
import { CODE, inForce, isSame, notHeld, notOwner, overAt, ownerOfHold, released } from './lock-answers.js'
import type { LockTransaction } from './lock-transaction.js'
import { freeAndGrant, grantNext, leave } from './queue.js'

/** `token` 0: the request carries none. `all`: releases every acquire at once. */
export function release(
  tx: LockTransaction,
  key: Uint8Array,
  id: string,
  token: number,
  all: boolean,
): OwnerResult {
  const row = tx.hold(key)
  if (row === undefined) return notHeld(id, tx.now)
  if (!isSame(row, id, token)) return notOwner(row, tx.now)
  if (tx.now > overAt(row)) {
    tx.deleteHold(key)
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
 * Takes the waiter out of the queue, and releases all acquires of a grant that its ticket already has.
 * Returns the state before.
 */
export function cancelWait(tx: LockTransaction, key: Uint8Array, id: string): TicketResult {
  const waiter = tx.waiter(key, id)
  if (waiter !== undefined) {
    leave(tx, waiter)
    return ['queued', null]
  }
  const row = tx.hold(key)
  if (row === undefined || row.id !== id) return ['unknown', null]
  const before: TicketResult = inForce(row, tx.now)
    ? ['granted', ownerOfHold(row, tx.now)]
    : ['unknown', null]
  release(tx, key, id, row.token, true)
  return before
}

/**
 * Cancels or releases every ticket of the list. Returns for each the token of the hold that was released, or
 * 0 if there was none.
 */
export function releaseAll(tx: LockTransaction, list: readonly TicketArg[]): number[] {
  return list.map(([key, id]) => cancelWait(tx, key, id)[1]?.[3] ?? 0)
}

/** Ends the hold with exactly that token, with all its acquires, if it is in force. */
export function forceRelease(tx: LockTransaction, key: Uint8Array, token: number): boolean {
  const row = tx.hold(key)
  if (!inForce(row, tx.now) || row.token !== token) return false
  freeAndGrant(tx, row)
  return true
}
