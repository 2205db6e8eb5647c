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

/** As an emitter of Node's has them, so that `once` and `on` of node:events work with a store. */
export interface EventCalls {
  /** A listener that throws is the process's matter, not the store's. */
  on<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): this
  once<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): this
  off<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): this
  /** The same as `on`. */
  addListener<Name extends keyof StoreEvents>(name: Name, listener: (event: StoreEvents[Name]) => void): this
  /** The same as `off`. */
  removeListener<Name extends keyof StoreEvents>(
    name: Name,
    listener: (event: StoreEvents[Name]) => void,
  ): this
}

export interface Store extends KeyValueCalls, LockCalls, ClusterCalls, EventCalls, AsyncDisposable {}
