// Rule: exports the lock rules, which are pure functions over a transaction.

export { renew, tryLock } from './acquire.js'
export { endSession, expire, removeWaiters, touch } from './expiry.js'
export { type Law, type LockEvent, judgeHistory } from './history-checker.js'
export { CODE, inForce, overAt, ownerOfHold, reclaimAt } from './hold-checks-and-answers.js'
export type {
  HoldRow,
  LockHappening,
  LockTransaction,
  LockView,
  SharedHolds,
  WaiterRow,
} from './lock-transaction.js'
export { guardHolder, isHeldWith, lockInfo, lockOwner, ticketOf } from './lock-reads.js'
export { grantNext } from './queue.js'
export { downgrade, presentHold, proclaim, rotate } from './downgrade-proclaim-rotate.js'
export { tryLockAll } from './acquire-all.js'
export { cancelWait, forceRelease, release, releaseAll, resize, steal } from './release.js'
