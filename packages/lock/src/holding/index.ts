// Rule: exports the lock objects, which work over a LockPort.

export { isWorthRetry, mayBeApplied, pause, untilAnswered } from './background-retry.js'
export { CallLimit, OVER } from './call-deadline-or-abort.js'
export { ClusterTimeBound, DEFAULT_DRIFT } from './cluster-time-bound.js'
export { DistributedLock } from './distributed-lock.js'
export { FenceGuard, type FencePort } from './fence-guard.js'
export { Hold } from './hold.js'
export { HoldSet } from './lock-set-hold.js'
export type { LockAttempt, LockObject } from './distributed-lock-interface.js'
export { type LockOptions, Locking } from './lock-apis-of-store.js'
export { type AcquireOptions, type LockOfSet, Locks, type SetOptions } from './locks.js'
export { BaseHold } from './base-hold.js'
export { type CampaignOptions, type ElectionEvent, Elections, type Leader, Leadership } from './elections.js'
export { type PermitOptions, Permit, Semaphores } from './semaphores.js'
export type { WaitOptions } from './acquire-call.js'
export { lockCommand } from './acquire-command.js'
export { flowNameArg } from './flow-for-deadlock-detection.js'
export { modeArg, permitsArg } from './lock-arguments.js'
export { circleError, obstacleError, toLockInfo, toOwner } from './owner-from-wire-format.js'
export type {
  HoldingCounts,
  CallListener,
  LockCall,
  LockCallOptions,
  LockPort,
  Observer,
  WaitKind,
} from './lock-port-interface.js'
export type { LockWatchEvent, LockWatchOptions } from './lock-watch-types.js'
export { waiting } from './waiting-count.js'
export { Watchdog, type WatchdogEvents } from './renewing-watchdog.js'
export {
  type WebLock,
  type WebLockInfo,
  type WebLockMode,
  type WebLockOptions,
  WebLocks,
  type WebLockSnapshot,
} from './web-locks-api.js'
