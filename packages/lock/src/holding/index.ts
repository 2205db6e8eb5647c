// Rule: exports the lock objects, which work over a LockPort.

export { ClusterBound, DEFAULT_DRIFT } from './cluster-time-bound.js'
export { DistributedLock } from './distributed-lock.js'
export { FenceGuard, type FencePort } from './fence-guard.js'
export { Hold } from './hold.js'
export type { LockAttempt, LockObject } from './lock-interface.js'
export { type LockOptions, Locking } from './locking.js'
export { type AcquireOptions, Locks } from './locks.js'
export { toLockInfo, toOwner } from './owner-decoding.js'
export type { LockCall, LockCallOptions, LockPort } from './lock-port.js'
export type { LockWatchEvent, LockWatchOptions } from './lock-watch-event.js'
export { Watchdog, type WatchdogEvents } from './watchdog.js'
