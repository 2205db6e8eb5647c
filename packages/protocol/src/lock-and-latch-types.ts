// Types: the public types of locks, semaphores, latches and barriers: arguments of calls, results, and rows
// of lists.

import type { Duration } from './duration.js'
import type { As, Bytes, KeyAs } from './key-and-value-encodings.js'
import type { CallOptions, ReadOptions } from './key-value-calls-and-options.js'
import type { LockEventName } from './result-wire-types.js'

/**
 * The outcome of a request of a lock. After an acquire, the first four codes mean success. After a release,
 * RELEASED and DECREMENTED mean success.
 */
export type OwnerCode =
  | 'FIRST_TIME'
  | 'NEW_ACQUIRE'
  | 'KEEP_LEASE'
  | 'REENTRANT'
  | 'KEEP_LEASE_FAIL'
  | 'HELD'
  | 'RELEASED'
  | 'DECREMENTED'
  | 'NOT_HELD'
  | 'EXPIRED'
  | 'NOT_OWNER'

/**
 * The values of `remainingMillis` after a successful acquire. They are the numbers of RheaKV, another
 * key-value store.
 */
export const FIRST_TIME_SUCCESS = -1
export const NEW_ACQUIRE_SUCCESS = -2
export const KEEP_LEASE_SUCCESS = -3
export const REENTRANT_SUCCESS = -4
/**
 * The value of `remainingMillis` after a failed renewal of a hold that does not exist. It is RheaKV's number.
 */
export const KEEP_LEASE_FAIL = Number.MAX_SAFE_INTEGER

/** The answer to a request of a lock: the present holder of the lock, and the outcome of the request. */
export interface Owner {
  id: string
  /** The end of the lease in cluster time, like `nowMillis`. Do not compare this time with a wall clock. */
  deadlineMillis: number
  /**
   * After a successful acquire, a negative number that tells the kind of success (see the constants above).
   * After a refusal, the rest of the holder's lease in ms.
   */
  remainingMillis: number
  fencingToken: number
  acquires: number
  context: Bytes | undefined
  success: boolean
  code: OwnerCode
  /** The cluster time of the log entry that decided the request. */
  nowMillis: number
}
/**
 * The caller of a lock request. Use a new random `id` for each hold, because requests with the same id count
 * as requests of the same holder.
 */
export interface Acquirer {
  id: string
  lease: Duration
  fencingToken?: number | null | undefined
  context?: Bytes | undefined
}

/** An exclusive hold excludes all other holds. Shared holds exclude only exclusive holds. */
export type LockMode = 'exclusive' | 'shared'
/** A hold in force, as `locks.query` lists it. */
export interface LockInfo<A extends As = 'bytes'> {
  key: KeyAs<A>
  mode: LockMode
  id: string
  context: Bytes | undefined
  fencingToken: number
  acquires: number
  remainingMillis: number
  /** In ms, the time since the holder acquired the lock. */
  sinceMillis: number
  waiters: number
  /** The waiters in the order of the queue, if `{ queue: true }` was given. */
  queue?: QueuedInfo[] | undefined
  /** The kind of the hold. Present if the call had the option `kind`. */
  kind?: HoldKind | undefined
  /** The number of permits, for a hold of a semaphore. A hold of a semaphore is always shared. */
  permits?: number | undefined
}
/** The kinds of objects that have holders and a queue. */
export type HoldKind = 'lock' | 'semaphore' | 'election' | 'webLock'
/** The options of `latches.query` and `barriers.query`. */
export interface ListOptions<A extends As = As> extends CallOptions {
  /** The encoding of the returned names. The default is the encoding of the store. */
  as?: A | undefined
}
/** A latch, as `latches.query` lists it. `count` is the remaining count. With 0 the latch is open. */
export interface LatchInfo<A extends As = 'bytes'> {
  name: KeyAs<A>
  count: number
  waiters: number
}
/**
 * A barrier at which callers wait, as `barriers.query` lists it. `generation` is the number of the round for
 * which they wait, and `parties` is the number of callers that complete the round.
 */
export interface BarrierInfo<A extends As = 'bytes'> {
  name: KeyAs<A>
  generation: number
  parties: number
  waiters: number
}
/** One earlier change of a lock. All times are cluster time, which stands still while there is no leader. */
interface LockHistoryRow {
  type: LockEventName
  /** The id of the holder or of the waiter. */
  id: string
  context: Bytes | undefined
  /** The fencing token of the hold, or 0 for a waiter. */
  fencingToken: number
  /** The revision of the store at the change. */
  revision: number
  /** In ms, the time since the change. */
  agoMillis: number
}
/** The last changes of a lock, in their order: all changes of the last `sinceMillis` ms, except renewals. */
export interface LockHistory extends Array<LockHistoryRow> {
  readonly sinceMillis: number
}
export interface LockHistoryOptions extends CallOptions {
  /** The kind of object with the given name. Default: a lock. */
  kind?: HoldKind | undefined
}
/** A waiter for a lock. */
interface QueuedInfo {
  id: string
  context: Bytes | undefined
  mode: LockMode
  waitedMillis: number
  /** The wanted permits, for a waiter of a semaphore. Present if the call had the option `kind`. */
  permits?: number | undefined
}
/** A hold of permits of a semaphore, as `semaphores.query` lists it. */
export interface PermitInfo<A extends As = 'bytes'>
  extends Omit<LockInfo<A>, 'key' | 'mode' | 'queue' | 'kind' | 'permits'> {
  name: KeyAs<A>
  permits: number
  queue?: QueuedPermitsInfo[] | undefined
}
/** A waiter for permits. */
interface QueuedPermitsInfo extends Omit<QueuedInfo, 'mode' | 'permits'> {
  permits: number
}
export interface LockQueryOptions<A extends As = As> extends ReadOptions<A> {
  /** With true, each row also has its waiters. Default: false. */
  queue?: boolean | undefined
}
export interface LockListOptions<A extends As = As> extends LockQueryOptions<A> {
  /**
   * The kind of holds to list, by default 'lock'. If `kind` is given, each row has its `kind`. 'all' reads
   * one kind after the other, so the answer does not show a single moment.
   */
  kind?: HoldKind | 'all' | undefined
}
