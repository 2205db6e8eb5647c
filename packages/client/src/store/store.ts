// Rule: what a user holds, embedded or remote.

import type { DistributedLock, LockOptions, Locks, Watchdog } from '@latchkey/lock'
import type {
  Acquirer,
  Bytes,
  CallOptions,
  ClusterCalls,
  Duration,
  KeyValueCalls,
  Owner,
  StoreEvents,
} from '@latchkey/protocol'

export interface LockCalls {
  /** RheaKV's shape. Without a watchdog the lease is a timeout. Throws a TypeError at the call. */
  getDistributedLock(key: Bytes, lease: Duration, watchdog?: Watchdog, options?: LockOptions): DistributedLock
  /** The shape a Node developer reaches for. */
  readonly locks: Locks
  tryLockWith(
    key: Bytes,
    fencingKey: Bytes | null | undefined,
    keepLease: boolean,
    acquirer: Acquirer,
    options?: CallOptions,
  ): Promise<Owner>
  releaseLockWith(key: Bytes, acquirer: Acquirer, options?: CallOptions): Promise<Owner>
}

export interface EventCalls {
  /** Returns the function that takes the listener off again. A listener that throws is the process's matter, not the store's. */
  on<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): () => void
  once<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): () => void
  off<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): void
}

export interface Store extends KeyValueCalls, LockCalls, ClusterCalls, EventCalls, AsyncDisposable {}
