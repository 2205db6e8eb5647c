// Rule: what everybody who holds a Store needs besides: the objects of locks, the errors, the numbers and the types. One list for
// this package and for latchkey, so that code moves from the one to the other by its import alone.

export type { Logger } from '@latchkey/base'
export {
  type AcquireOptions,
  DistributedLock,
  FenceGuard,
  type FencePort,
  Hold,
  type LockAttempt,
  type LockObject,
  type LockOptions,
  Locks,
  type LockWatchEvent,
  type LockWatchOptions,
  Watchdog,
  type WatchdogEvents,
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
