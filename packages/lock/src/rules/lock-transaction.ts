// Rule: the transaction through which the lock rules read and write. kv implements it on its rows, and
// tests on maps.

import type { ContextArg, LockEventName } from '@latchkey/protocol'

/**
 * A hold. A lock has either one exclusive hold or any number of shared ones; a semaphore has shared ones.
 * The row of an exclusive hold stays after the lease is over, until another acquirer takes the lock, its
 * owner releases it, or the row is reclaimed. The row of a shared hold is removed when its lease is over.
 */
export interface HoldRow {
  readonly key: Uint8Array
  readonly id: string
  /** The present fencing token. Guards accept no other. */
  readonly token: number
  /**
   * The token with which this ownership began. A rotation gives a new token. A request of the owner that was
   * sent with an older token of this ownership is still the owner's.
   */
  readonly firstToken: number
  readonly acquires: number
  /** The cluster time of its end. The hold is over at the first entry with now > deadline. */
  readonly deadline: number
  readonly context: ContextArg
  /** The counter from which its token comes. null means the counter of the store. */
  readonly fencingKey: Uint8Array | null
  /** The session of the command that made this hold, or of the waiter that was granted it. */
  readonly session: number
  /** Cluster time of the entry that granted this ownership; a reentry or renewal does not change it. */
  readonly since: number
  /**
   * A grant to a waiter ends when now > touchBy, unless a command of its session arrives before. That command
   * confirms the grant. 0 if the grant is confirmed, or the hold was never queued.
   */
  readonly touchBy: number
  /**
   * How the lock was acquired: CODE.FIRST_TIME or CODE.NEW_ACQUIRE. A push and a later read of the ticket
   * answer with this code.
   */
  readonly code: number
  /**
   * 0 means exclusive. Otherwise the hold is shared: 1 for a lock, or the number of permits of a semaphore.
   */
  readonly permits: number
  /**
   * Its number in the order of grants, from the counter of arrivals. All members agree on the order of shared
   * holds, even after a restart.
   */
  readonly arrival: number
  /** The flow that its caller has named, or null. */
  readonly flow: string | null
}

/** The shared holds of a lock or semaphore. */
export interface SharedHolds {
  /** The sum of their permits. */
  readonly permits: number
  /** The one that was granted first. */
  readonly first: HoldRow
}

export interface WaiterRow {
  readonly key: Uint8Array
  /** The order of arrival: a number from one counter of the store. No number is used twice. */
  readonly arrival: number
  readonly id: string
  readonly session: number
  /** Cluster time of the entry in which the waiter joined the queue. */
  readonly since: number
  /** The wait is over at the first entry with now > deadline. 0 means that it has no limit. */
  readonly deadline: number
  readonly lease: number
  readonly context: ContextArg
  readonly fencingKey: Uint8Array | null
  /** The same as for a hold. */
  readonly permits: number
  /**
   * The waiters for a set of keys have consecutive arrival numbers: `setCount` of them, from `setFirst` on.
   * Both are 0 if it waits for one key alone.
   */
  readonly setFirst: number
  readonly setCount: number
  /** The same as for a hold. */
  readonly flow: string | null
  /** The ids of the holds of withLock within which it was asked for. The innermost comes first. */
  readonly within: readonly string[]
}

/**
 * What reads need. In a linearizable read `now` is the cluster time that the leader has proven, and at least
 * the time of the last applied entry.
 */
export interface LockView {
  readonly now: number
  /** The exclusive hold, in force or not. */
  hold(key: Uint8Array): HoldRow | undefined
  /** The shared hold of that id. The next method returns the one with that token. */
  sharedHold(key: Uint8Array, id: string): HoldRow | undefined
  sharedHoldWith(key: Uint8Array, token: number): HoldRow | undefined
  /** Undefined if there is no shared hold. */
  shared(key: Uint8Array): SharedHolds | undefined
  waiter(key: Uint8Array, id: string): WaiterRow | undefined
  waiterCount(key: Uint8Array): number
  /** The waiters of a lock, in order of arrival. */
  queueOf(key: Uint8Array): Iterable<WaiterRow>
}

/** The events that the lock rules can cause. */
export type LockHappening = LockEventName

export interface LockTransaction extends LockView {
  /** Cluster time of the entry. */
  readonly now: number
  /** The cluster time of the entry before. */
  readonly previous: number
  putHold(row: HoldRow): void
  /**
   * Records an event for watches of locks. For a row that was put, this is called directly after `putHold` or
   * `putWaiter`. For a row that is removed, it gets the row as it was.
   */
  happened(what: LockHappening, row: HoldRow | WaiterRow): void
  /** Counts a hold that was ended by force, because its holder did not release it. It changes no row. */
  taken(row: HoldRow): void
  deleteHold(row: HoldRow): void
  /** How many permits that semaphore has. Undefined if it is not known yet, or if the key is no semaphore. */
  permitsOf(key: Uint8Array): number | undefined
  setPermits(key: Uint8Array, of: number): void
  /** The next token of that counter, which is higher than every token that it gave before. */
  nextToken(fencingKey: Uint8Array | null): number
  /** The shared holds of a lock, in the order of their grants. */
  sharedOf(key: Uint8Array): Iterable<HoldRow>
  firstWaiter(key: Uint8Array): WaiterRow | undefined
  /** A waiter for a set of keys, by its arrival number. */
  waiterOfSet(arrival: number): WaiterRow | undefined
  nextArrival(): number
  /**
   * Replaces the row with that (key, id), if there is one. The caller keeps the arrival number. The session
   * may be another one.
   */
  putWaiter(row: WaiterRow): void
  deleteWaiter(row: WaiterRow): void
  /**
   * The whole life of that session in milliseconds, not what is left of it. Undefined if the session ended in
   * this entry or before.
   */
  sessionLife(session: number): number | undefined
  /** A waiter was granted this hold in this entry. The waiter's member pushes ownerOfHold(row, now) to it. */
  granted(row: HoldRow): void

  // Each list below is complete when the call returns, because the rules delete and write rows
  // while they iterate.

  /**
   * Waiters with now > deadline, without those whose deadline is 0. They come in the order of CT3: by
   * deadline, then arrival.
   */
  dueWaiters(): Iterable<WaiterRow>
  /**
   * Holds with now > overAt(row), in the order of overAt, then key, then arrival. A row must be listed once,
   * and may be listed again.
   */
  dueHolds(): Iterable<HoldRow>
  /**
   * Rows with now > reclaimAt(row), which have been over for an hour, in the order of reclaimAt, then key.
   */
  reclaimableHolds(): Iterable<HoldRow>
  /**
   * The waiters of a session. (untouchedHoldsOf returns the grants that the session has not confirmed yet.)
   */
  waitersOf(session: number): WaiterRow[]
  /** The waiters of a flow of that name, or within the hold of that id, in order of arrival. */
  waitersOfFlow(name: string): WaiterRow[]
  untouchedHoldsOf(session: number): Iterable<HoldRow>
}
