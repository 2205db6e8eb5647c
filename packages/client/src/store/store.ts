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
import type { Mirror, MirrorOptions, MirrorTarget } from './mirror.js'

/** Locks, in three shapes. */
export interface LockCalls {
  /** RheaKV's shape. Without a watchdog the lease is a timeout. Throws a TypeError at the call. */
  getDistributedLock(key: Bytes, lease: Duration, watchdog?: Watchdog, options?: LockOptions): DistributedLock
  /** The shape a Node developer reaches for: acquire, tryAcquire, withLock, query, forceRelease. */
  readonly locks: Locks
  /** RheaKV's primitive under both: one attempt, no queue, no renewal. `keepLease` renews; `fencingKey` null is the store's counter. */
  tryLockWith(
    key: Bytes,
    fencingKey: Bytes | null | undefined,
    keepLease: boolean,
    acquirer: Acquirer,
    options?: CallOptions,
  ): Promise<Owner>
  /** Gives one acquire back. Like tryLockWith it answers with the Owner, and is refused by `code`, not by an error. */
  releaseLockWith(key: Bytes, acquirer: Acquirer, options?: CallOptions): Promise<Owner>
}

export interface MirrorCalls {
  /**
   * A Map that follows the store, across reconnects, changes of leader and compaction: always a state that the store had.
   * ```ts
   * await using flags = await store.mirror({ prefix: 'flags/' }, { as: 'json' })
   * flags.on('change', ({ key, value }) => console.log(key, value))
   * if (flags.get('flags/dark')) console.log('dark')
   * ```
   */
  mirror(target: MirrorTarget, options?: MirrorOptions): Promise<Mirror>
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

/** A replicated store: embedded (`open`) or remote (`connect`), with the same calls, errors and promises. */
export interface Store
  extends KeyValueCalls,
    MirrorCalls,
    LockCalls,
    ClusterCalls,
    EventCalls,
    AsyncDisposable {}
