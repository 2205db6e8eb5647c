// Rule: the lock rules, pure, over a transaction.

export { type RenewCommand, type TryLockAnswer, type TryLockCommand, renew, tryLock } from './acquire.js'
export { endSession, expire, touch } from './expire.js'
export { type Law, type LockEvent, type Violation, judgeHistory } from './history.js'
export { CODE, inForce, overAt, ownerOfHold, reclaimAt } from './owner.js'
export type { HoldRow, LockTransaction, LockView, WaiterRow } from './port.js'
export { isHeldWith, lockInfo, lockOwner, ticketOf } from './query.js'
export { grantNext } from './queue.js'
export { cancelWait, forceRelease, release } from './release.js'
