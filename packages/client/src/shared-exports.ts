// Rule: exports what every user of a Store needs besides the store: lock objects, errors, constants and
// types. This package and latchkey export the same list, so that code can move from one package to the other
// if its import is changed.

export type { Logger } from '@latchkey/base'
export {
  type AcquireOptions,
  type BaseHold,
  type CampaignOptions,
  DistributedLock,
  type ElectionEvent,
  Elections,
  FenceGuard,
  type FencePort,
  Hold,
  HoldSet,
  type Leader,
  Leadership,
  type LockAttempt,
  type LockObject,
  type LockOfSet,
  type LockOptions,
  Locks,
  type LockWatchEvent,
  type LockWatchOptions,
  Permit,
  type PermitOptions,
  Semaphores,
  type SetOptions,
  type WaitOptions,
  Watchdog,
  type WatchdogEvents,
  type WebLock,
  type WebLockInfo,
  type WebLockMode,
  type WebLockOptions,
  type WebLocks,
  type WebLockSnapshot,
} from '@latchkey/lock'
export {
  ERRORS,
  FIRST_TIME_SUCCESS,
  isLatchkeyError,
  KEEP_LEASE_FAIL,
  KEEP_LEASE_SUCCESS,
  LatchkeyError,
  NEW_ACQUIRE_SUCCESS,
  REENTRANT_SUCCESS,
} from '@latchkey/protocol'
export type * from '@latchkey/protocol'
