// Types: the interface of a DistributedLock, for code that receives a DistributedLock.

import type { Bytes, CallOptions, Duration, Owner } from '@latchkey/protocol'

/** The options of one attempt to acquire. */
export interface LockAttempt {
  context?: Bytes | undefined
  /** How long the call may wait in the fair queue. Without this limit, the call makes one attempt. */
  timeout?: Duration | undefined
  signal?: AbortSignal | undefined
}

/** The calls of a DistributedLock. */
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
