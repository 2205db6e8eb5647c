// Types: the interface of a store, embedded or remote.

import type {
  DistributedLock,
  Elections,
  LockOptions,
  Locks,
  Semaphores,
  Watchdog,
  WebLocks,
} from '@latchkey/lock'
import type {
  Acquirer,
  As,
  Bytes,
  CallOptions,
  ClusterCalls,
  Duration,
  KeyValueCalls,
  OnUndecodable,
  Owner,
  Parsed,
  StoreEvents,
} from '@latchkey/protocol'
import type { Barriers } from './barriers.js'
import type { Latches } from './latches.js'
import type { Mirror, MirrorOptions, MirrorTarget } from './mirror.js'

/**
 * The calls for locks and semaphores. Some calls have the interface of RheaKV, the key-value store of JRaft.
 * The other calls are in the style of Node.
 */
export interface LockCalls<S extends As = 'bytes'> {
  /**
   * Returns a lock object in the style of RheaKV. With a watchdog, the lease is renewed until the release.
   * Without a watchdog, the lock expires at the end of the lease. Throws a TypeError for wrong arguments.
   */
  getDistributedLock(key: Bytes, lease: Duration, watchdog?: Watchdog, options?: LockOptions): DistributedLock
  /** The lock calls in the style of Node: acquire, tryAcquire, withLock, query, forceRelease. */
  readonly locks: Locks<S>
  /**
   * Semaphores: locks that a limited number of holders share. The calls are acquire, tryAcquire, resize and
   * query.
   */
  readonly semaphores: Semaphores<S>
  /** Elections of one leader among processes: campaign, leader, observe. */
  readonly elections: Elections<S>
  /**
   * Locks with the calls of `navigator.locks`: request, query. Their names are separate from the
   * names of `locks`.
   */
  readonly webLocks: WebLocks
}

/** These calls for locks exist on a store, but not on a `sub`. */
export interface LockPrimitives {
  /**
   * The basic lock call of RheaKV. The call makes one attempt, without a queue and without renewal.
   * `keepLease` renews a lock that is held. If `fencingKey` is null, the store's own counter gives the
   * fencing token.
   */
  tryLockWith(
    key: Bytes,
    fencingKey: Bytes | null | undefined,
    keepLease: boolean,
    acquirer: Acquirer,
    options?: CallOptions,
  ): Promise<Owner>
  /**
   * Releases one acquire: a lock that was acquired twice must be released twice. The call resolves to an
   * Owner, whose `code` says whether the release succeeded.
   */
  releaseLockWith(key: Bytes, acquirer: Acquirer, options?: CallOptions): Promise<Owner>
}

/** The calls for latches and barriers, at which callers wait for each other. */
export interface LatchAndBarrierCalls {
  /** Latches. A latch counts down once and then opens for all waiters. */
  readonly latches: Latches
  /**
   * Barriers. The callers at a barrier continue when all of them have arrived. A barrier can be used many
   * times.
   */
  readonly barriers: Barriers
}

export interface MirrorCalls<S extends As = 'bytes'> {
  /**
   * Opens a copy of a part of the store, as a Map that follows the store across reconnects, changes of leader
   * and compaction. The Map always shows a state that the store had.
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

/** How a `sub` encodes and decodes values. The default comes from the store or the `sub` that made it. */
export interface SubOptions<A extends As = As> {
  as?: A | undefined
  onUndecodable?: OnUndecodable | undefined
}
export interface SubCalls<S extends As = 'bytes'> {
  /**
   * Returns an object with the same calls for the keys that begin with `prefix`. The prefix is added to each
   * given key, range, guard and lock, and removed from returned keys.
   * ```ts
   * const orders = store.sub('orders/', { as: 'json' })
   * await orders.put('42', { state: 'new' }) // the key 'orders/42'
   * await using hold = await orders.locks.acquire('42') // the lock 'orders/42'
   * await hold.kv.put('42', { state: 'charged' })
   * ```
   * A `sub` needs no connection and no close of its own. An empty prefix is a TypeError. See docs/keys.md.
   */
  sub<A extends As = S>(prefix: Bytes, options?: SubOptions<A>): SubStore<A>
}

/**
 * The calls for keys and locks, below a prefix. Some calls, such as `close`, `ready`, `status` and `on`,
 * exist only on the store itself.
 */
export interface SubStore<S extends As = 'bytes'>
  extends KeyValueCalls<S>,
    MirrorCalls<S>,
    LockCalls<S>,
    LatchAndBarrierCalls,
    SubCalls<S> {}

/** The methods of Node's EventEmitter, so that `once` and `on` of node:events work with a store. */
export interface EventCalls {
  /** Adds a listener. An error that a listener throws becomes an uncaught exception. */
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
 * A replicated store, embedded (`open`) or remote (`connect`), with the same calls, errors and guarantees.
 * `S` is the encoding with which the store was opened. `S` decides the type of the values: a `Store` gives
 * bytes, and a `Store<'json'>` gives what `{ as: 'json' }` decodes. Use `Store<As>` for a store whose
 * encoding is not known.
 */
export interface Store<S extends As = 'bytes'>
  extends SubStore<S>,
    LockPrimitives,
    ClusterCalls,
    EventCalls,
    AsyncDisposable {}
