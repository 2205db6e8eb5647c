// Rule: ends the waits and holds whose time is over, before the commands of a log entry run (CT3), and
// applies the end of a session.

import { CODE, overAt, reclaimAt } from './hold-checks-and-answers.js'
import type { LockTransaction } from './lock-transaction.js'
import { grantNext, remove, waitIsOver } from './queue.js'

/**
 * Ends the waits and the holds whose time is over, before the commands of an entry run (CT3). Before this
 * call, the state machine has ended the sessions whose time is over. `changedQueues` are the keys that
 * removeWaiters has returned for these sessions.
 *
 * Law: due waiters are removed before the locks of due holds are granted again. Otherwise the lock of an
 * ended hold could be granted, in the same entry, to a waiter whose wait is already over.
 *
 * Law: a hold ends in exactly one entry. A member that restarts finds the rows of holds that had ended
 * before. If that member granted these locks again, it might serve the waiters for a set of keys in another
 * order than the other members.
 *
 * Law: all holds that are over end before any lock is granted again. Without this law: a set of keys is
 * granted at all of its keys in one step. One of these keys may have an old hold that is over but has not
 * been ended yet. Watches would then report the new hold before the end of the old hold.
 *
 * Law: the queues that lost a waiter are served last. Otherwise the next waiter would be granted a lock whose
 * lease is over but whose hold has not been ended yet. No watch would then report that this hold has expired.
 */
export function expire(tx: LockTransaction, changedQueues: readonly Uint8Array[]): void {
  const changed = [...changedQueues]
  for (const waiter of tx.dueWaiters()) if (waitIsOver(waiter, tx.now)) changed.push(...remove(tx, waiter))
  // The list may have rows of holds that ended in an earlier entry. The filter drops these rows.
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
 * Removes the waiters of a session that has ended. The holds of the session stay until their leases end.
 * Returns the keys of the queues in which another waiter may be served now. The caller must call grantNext
 * for these keys.
 */
export function removeWaiters(tx: LockTransaction, session: number): Uint8Array[] {
  return tx.waitersOf(session).flatMap((waiter) => remove(tx, waiter))
}

export function endSession(tx: LockTransaction, session: number): void {
  for (const key of removeWaiters(tx, session)) grantNext(tx, key, CODE.FIRST_TIME)
}

/**
 * Confirms the grants of a session. Called before each command of the session, because the command shows that
 * the client is alive. The grants are then valid for their whole lease.
 */
export function touch(tx: LockTransaction, session: number): void {
  for (const row of tx.untouchedHoldsOf(session)) {
    if (tx.now <= overAt(row)) tx.putHold({ ...row, touchBy: 0 })
  }
}
