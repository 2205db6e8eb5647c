// Rule: what an entry's time does before its commands (CT3), and what the ends of sessions do.

import { CODE, overAt, reclaimAt } from './lock-answers.js'
import type { LockTransaction } from './lock-transaction.js'
import { grantNext, waitIsOver } from './queue.js'

/**
 * CT3. At each entry, before its commands: kv first ends the sessions that are over (by deadline, then id), each with endSession;
 * then this. Law: waiters before holds, so that nobody whose wait is over is granted by the expiry of the same entry.
 */
export function expire(tx: LockTransaction): void {
  for (const waiter of tx.dueWaiters()) if (waitIsOver(waiter, tx.now)) tx.deleteWaiter(waiter)
  // A hold without waiters stays as it is, expired: the next asker reads so from its deadline.
  for (const row of tx.dueHolds()) if (tx.now > overAt(row)) grantNext(tx, row.key, CODE.NEW_ACQUIRE)
  for (const row of tx.reclaimableHolds()) if (tx.now > reclaimAt(row)) tx.deleteHold(row.key)
}

/** The end of a session removes its waiters, never a hold. An untouched grant of it ends by its own touchBy. */
export function endSession(tx: LockTransaction, session: number): void {
  for (const waiter of tx.waitersOf(session)) tx.deleteWaiter(waiter)
}

/** At each command of a session, before it runs: its grants have an owner that is alive, and now live for their whole lease. */
export function touch(tx: LockTransaction, session: number): void {
  for (const row of tx.untouchedHoldsOf(session)) {
    if (tx.now <= overAt(row)) tx.putHold({ ...row, touchBy: 0 })
  }
}
