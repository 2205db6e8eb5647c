// Rule: what a user holds, embedded or remote.

import type { DistributedLock, LockOptions, Locks, Watchdog } from '@latchkey/lock'
import type {
  Acquirer,
  As,
  Bytes,
  CallOptions,
  ClusterCalls,
  Duration,
  KeyValueCalls,
  Owner,
  Parsed,
  StoreEvents,
} from '@latchkey/protocol'
import type { Mirror, MirrorOptions, MirrorTarget } from './mirror.js'

/** Locks, in three shapes. */
export interface LockCalls<S extends As = 'bytes'> {
  /** RheaKV's shape. Without a watchdog the lease is a timeout. Throws a TypeError at the call. */
  getDistributedLock(key: Bytes, lease: Duration, watchdog?: Watchdog, options?: LockOptions): DistributedLock
  /** The shape a Node developer reaches for: acquire, tryAcquire, withLock, query, forceRelease. */
  readonly locks: Locks<S>
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

export interface MirrorCalls<S extends As = 'bytes'> {
  /**
   * A Map that follows the store, across reconnects, changes of leader and compaction: always a state that the store had.
   * ```ts
   * await using flags = await store.mirror({ prefix: 'flags/' }, { as: 'json' })
   * flags.on('change', ({ key, value }) => console.log(key, value))
   * if (flags.get('flags/dark')) console.log('dark')
   * ```
   */
  mirror<T = unknown, A extends As = S>(
    target: MirrorTarget,
    options?: MirrorOptions<A>,
  ): Promise<Mirror<A, T>>
  mirror<T>(target: MirrorTarget, options: MirrorOptions<Parsed>): Promise<Mirror<Parsed, T>>
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

/**
 * A replicated store: embedded (`open`) or remote (`connect`), with the same calls, errors and promises. `S` is the encoding that it was
 * opened with: `Store` alone has bytes, `Store<'json'>` what `{ as: 'json' }` makes of it; `Store<As>` is any of them.
 */
export interface Store<S extends As = 'bytes'>
  extends KeyValueCalls<S>,
    MirrorCalls<S>,
    LockCalls<S>,
    ClusterCalls,
    EventCalls,
    AsyncDisposable {}
