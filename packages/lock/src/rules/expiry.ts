// Rule: ends the waits and holds that are due, before the commands of an entry run (CT3), and applies the
// end of a session.

import { CODE, overAt, reclaimAt } from './lock-answers.js'
import type { LockTransaction } from './lock-transaction.js'
import { grantNext, remove, waitIsOver } from './queue.js'

/**
 * Runs at each entry, before its commands (CT3). Before this call, kv ends the sessions that are over, in the
 * order of their deadlines and then of their ids. For each of these sessions kv calls removeWaiters.
 * `unsettled` are the keys that removeWaiters has returned.
 *
 * Law: due waiters are removed before due holds are passed on. Otherwise the lock of an ended hold could be
 * granted, in the same entry, to a waiter whose wait is already over.
 *
 * Law: a hold ends in one entry only. A member that was started again finds holds that were over before. If
 * that member passed such a lock on once more, it might serve the waiters of a set in another order than the
 * other members.
 *
 * Law: all holds that are over end before any lock is passed on. Otherwise a set of locks, which is granted
 * at one of its keys, would take another key before the expiry of the hold of that key was reported.
 *
 * Law: queues that lost a waiter are settled last. Otherwise the next waiter would be granted a lock whose
 * lease is over but whose hold has not been ended yet, and no watch would report that this hold has expired.
 */
export function expire(tx: LockTransaction, unsettled: readonly Uint8Array[]): void {
  const changed = [...unsettled]
  for (const waiter of tx.dueWaiters()) if (waitIsOver(waiter, tx.now)) changed.push(...remove(tx, waiter))
  // An expired exclusive hold without waiters stays in the table. A later request sees from its deadline
  // that it is over.
  const over = [...tx.dueHolds()].filter((row) => tx.now > overAt(row) && tx.previous <= overAt(row))
  for (const row of over) {
    tx.happened('expired', row)
    if (row.permits > 0) tx.deleteHold(row)
  }
  for (const { key } of over) grantNext(tx, key, CODE.NEW_ACQUIRE)
  for (const key of changed) grantNext(tx, key, CODE.FIRST_TIME)
  for (const row of tx.reclaimableHolds()) if (tx.now > reclaimAt(row)) tx.deleteHold(row)
}

/**
 * Removes the waiters of a session that has ended, but never a hold. A grant that the session has not
 * confirmed ends at the touchBy of the grant. Returns the keys of the queues in which another waiter may be
 * served now. The caller must call grantNext for these keys.
 */
export function removeWaiters(tx: LockTransaction, session: number): Uint8Array[] {
  return tx.waitersOf(session).flatMap((waiter) => remove(tx, waiter))
}

/** Ends a session by a command, after everything that was due at this entry has ended. */
export function endSession(tx: LockTransaction, session: number): void {
  for (const key of removeWaiters(tx, session)) grantNext(tx, key, CODE.FIRST_TIME)
}

/**
 * Called for each command of a session, before the command runs. The command shows that the client is alive,
 * so the session's unconfirmed grants are valid for their whole lease from now on.
 */
export function touch(tx: LockTransaction, session: number): void {
  for (const row of tx.untouchedHoldsOf(session)) {
    if (tx.now <= overAt(row)) tx.putHold({ ...row, touchBy: 0 })
  }
}
