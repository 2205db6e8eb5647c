// Rule: ends the waits and holds that are due before the commands of an entry run (CT3), and applies the end
// of a session.

import { CODE, overAt, reclaimAt } from './lock-answers.js'
import type { LockTransaction } from './lock-transaction.js'
import { grantNext, leave, waitIsOver } from './queue.js'

/**
 * Runs at each entry, before its commands (CT3). Before this call, kv ends the sessions that are over, in the
 * order of deadline, then id, and calls endSession for each.
 * Law: due waiters are removed before due holds are passed on. Otherwise the end of a hold could be granted,
 * in the same entry, to a waiter whose wait is already over.
 */
export function expire(tx: LockTransaction): void {
  for (const waiter of tx.dueWaiters()) if (waitIsOver(waiter, tx.now)) leave(tx, waiter)
  // An expired hold without waiters stays in the table; a later request sees from its deadline that it is
  // over.
  for (const row of tx.dueHolds()) {
    if (tx.now <= overAt(row)) continue
    tx.happened('expired', row)
    grantNext(tx, row.key, CODE.NEW_ACQUIRE)
  }
  for (const row of tx.reclaimableHolds()) if (tx.now > reclaimAt(row)) tx.deleteHold(row.key)
}

/**
 * The end of a session removes its waiters but never a hold. A grant that the session has not touched ends at
 * its own touchBy.
 */
export function endSession(tx: LockTransaction, session: number): void {
  for (const waiter of tx.waitersOf(session)) leave(tx, waiter)
}

/**
 * Called for each command of a session, before it runs. The command shows that the client is alive, so the
 * session's untouched grants are from now on valid for their whole lease.
 */
export function touch(tx: LockTransaction, session: number): void {
  for (const row of tx.untouchedHoldsOf(session)) {
    if (tx.now <= overAt(row)) tx.putHold({ ...row, touchBy: 0 })
  }
}
