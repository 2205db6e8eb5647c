// Types: the public contract of locks: the arguments and the results of calls, and the rows of lists.

import type { Duration } from './duration.js'
import type { As, Bytes, KeyAs } from './encodings.js'
import type { CallOptions, ReadOptions } from './key-value-types.js'
import type { LockEventName } from './results.js'

/**
 * The result. After an acquire, the first four codes mean success. After a release, RELEASED and DECREMENTED
 * mean success.
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

/** RheaKV's numbers for a successful acquire, which are returned in `remainingMillis`. */
export const FIRST_TIME_SUCCESS = -1
export const NEW_ACQUIRE_SUCCESS = -2
export const KEEP_LEASE_SUCCESS = -3
export const REENTRANT_SUCCESS = -4
/** RheaKV's number for a failed renewal of a hold that does not exist. */
export const KEEP_LEASE_FAIL = Number.MAX_SAFE_INTEGER

/** The holder of a lock, and the result of the request. */
export interface Owner {
  id: string
  /**
   * The end of the lease in cluster time, which `nowMillis` uses too. Do not compare this time with a wall
   * clock.
   */
  deadlineMillis: number
  /**
   * After a successful acquire, this is RheaKV's number (see the constants). After a refusal, it is the rest
   * of the holder's lease in ms.
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
 * The identity of a requester. Use a random `id` for each hold, because requests with the same id come from
 * the same holder.
 */
export interface Acquirer {
  id: string
  lease: Duration
  fencingToken?: number | null | undefined
  context?: Bytes | undefined
}

/** An exclusive hold excludes all others. Shared holds exclude only exclusive ones. */
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
  /** The time since it was acquired, ms. */
  sinceMillis: number
  waiters: number
  /** The waiters in the order of the queue, if `{ queue: true }` was given. */
  queue?: QueuedInfo[] | undefined
  /** The kind of the hold, if the call had `kind`. */
  kind?: HoldKind | undefined
  /** The number of permits, for a hold of a semaphore. A hold of a semaphore is always shared. */
  permits?: number | undefined
}
/** What has holders and a queue. */
export type HoldKind = 'lock' | 'semaphore' | 'election' | 'webLock'
/** The options of `latches.query` and `barriers.query`. */
export interface ListOptions<A extends As = As> extends CallOptions {
  /** How the names are decoded. The default is the encoding of the store. */
  as?: A | undefined
}
/** A latch, as `latches.query` lists it. `count` is the remaining count. With 0 the latch is open. */
export interface LatchInfo<A extends As = 'bytes'> {
  name: KeyAs<A>
  count: number
  waiters: number
}
/**
 * A barrier at which a caller waits, as `barriers.query` lists it. `generation` is the generation for which
 * the callers wait.
 */
export interface BarrierInfo<A extends As = 'bytes'> {
  name: KeyAs<A>
  generation: number
  parties: number
  waiters: number
}
/**
 * A change of a lock in the past. All times are cluster time, which stands still while there is no leader.
 */
export interface LockHistoryRow {
  type: LockEventName
  /** The id of the holder, or of the caller that waits. */
  id: string
  context: Bytes | undefined
  /** The fencing token of the hold. The token is 0 for a waiting caller. */
  fencingToken: number
  /** The store's revision at that moment. */
  revision: number
  /** The time since the change, ms. */
  agoMillis: number
}
/**
 * The last changes of a lock, in their order. The list has all changes of the last `sinceMillis` ms and no
 * earlier ones. Renewals are not listed.
 */
export interface LockHistory extends Array<LockHistoryRow> {
  readonly sinceMillis: number
}
export interface LockHistoryOptions extends CallOptions {
  /** What has that name. Default: a lock. */
  kind?: HoldKind | undefined
}
/** A waiter for a lock. */
export interface QueuedInfo {
  id: string
  context: Bytes | undefined
  mode: LockMode
  waitedMillis: number
  /** Of a semaphore, if `kind` was given. */
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
export interface QueuedPermitsInfo extends Omit<QueuedInfo, 'mode' | 'permits'> {
  permits: number
}
export interface LockQueryOptions<A extends As = As> extends ReadOptions<A> {
  /** Lists the waiters of each lock too. Default false. */
  queue?: boolean | undefined
}
export interface LockListOptions<A extends As = As> extends LockQueryOptions<A> {
  /**
   * What to list. If `kind` is given, each row has its `kind`. 'all' reads one kind after the other, so the
   * answer does not show one moment. By default the call lists locks, and the rows have no `kind`.
   */
  kind?: HoldKind | 'all' | undefined
}
