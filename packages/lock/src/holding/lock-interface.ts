// Rule: what can be done with a lock in RheaKV's shape, for those who are handed one.

import type { Bytes, CallOptions, Duration, Owner } from '@latchkey/protocol'

/** How one attempt asks. */
export interface LockAttempt {
  context?: Bytes | undefined
  /** The wait in the fair queue; without it one attempt. */
  timeout?: Duration | undefined
  signal?: AbortSignal | undefined
}

/** A DistributedLock, by its calls. */
export interface LockObject extends AsyncDisposable {
  readonly held: boolean
  readonly signal: AbortSignal
  tryLock(options?: LockAttempt): Promise<boolean>
  lock(options?: Omit<LockAttempt, 'timeout'>): Promise<void>
  unlock(options?: CallOptions): Promise<{ acquires: number }>
  remainingMillis(): number
  getFencingToken(): number
  getOwner(): Owner | undefined
  getOwnerContext(): Bytes | undefined
}
