// Rule: the transaction that the lock rules read and write. kv implements it on its rows, tests on maps.

import type { ContextArg, LockEventName } from '@latchkey/protocol'

/**
 * A hold. Its row stays after the lease is over, until another acquirer takes the lock, its owner releases
 * it, or the row is reclaimed.
 */
export interface HoldRow {
  readonly key: Uint8Array
  readonly id: string
  readonly token: number
  readonly acquires: number
  /** The cluster time of its end: the hold is over at the first entry with now > deadline. */
  readonly deadline: number
  readonly context: ContextArg
  /** The counter that its token comes from; null: the counter of the store. */
  readonly fencingKey: Uint8Array | null
  /** The session of the command that made this hold, or of the waiter that was granted it. */
  readonly session: number
  /** Cluster time of the entry that granted this ownership; a reentry or renewal does not change it. */
  readonly since: number
  /**
   * A grant to a waiter ends when now > touchBy, unless a command of its session arrives before. 0: the
   * session has touched it, or the hold was never queued.
   */
  readonly touchBy: number
  /**
   * How the lock was acquired: CODE.FIRST_TIME or CODE.NEW_ACQUIRE. A push and a later read of the ticket
   * answer with this code.
   */
  readonly code: number
}

export interface WaiterRow {
  readonly key: Uint8Array
  /** The order of arrival, from one counter of the store; a number is never used twice. */
  readonly arrival: number
  readonly id: string
  readonly session: number
  /** Cluster time of the entry in which the waiter joined the queue. */
  readonly since: number
  /** The wait is over at the first entry with now > deadline; 0: it has no limit. */
  readonly deadline: number
  readonly lease: number
  readonly context: ContextArg
  readonly fencingKey: Uint8Array | null
}

/**
 * What reads need. In a linearizable read `now` is the cluster time that the leader has proven, and at least
 * that of the last applied entry.
 */
export interface LockView {
  readonly now: number
  hold(key: Uint8Array): HoldRow | undefined
  waiter(key: Uint8Array, id: string): WaiterRow | undefined
  waiterCount(key: Uint8Array): number
  /** The waiters of a lock, in order of arrival. */
  queueOf(key: Uint8Array): Iterable<WaiterRow>
}

/** The events that the lock rules can cause. */
export type LockHappening = Exclude<LockEventName, 'rotated'>

export interface LockTransaction extends LockView {
  /** Cluster time of the entry. */
  readonly now: number
  hold(key: Uint8Array): HoldRow | undefined
  putHold(row: HoldRow): void
  /**
   * Records an event for watches of locks. For a row that was put, this is called directly after `putHold` or
   * `putWaiter`; for a row that is removed, with the row as it was.
   */
  happened(what: LockHappening, row: HoldRow | WaiterRow): void
  deleteHold(key: Uint8Array): void
  /** The next token of that counter: higher than every token it gave before. */
  nextToken(fencingKey: Uint8Array | null): number
  firstWaiter(key: Uint8Array): WaiterRow | undefined
  waiter(key: Uint8Array, id: string): WaiterRow | undefined
  waiterCount(key: Uint8Array): number
  nextArrival(): number
  /**
   * Replaces the row with that (key, id), if there is one. The caller keeps its arrival; its session may be
   * another one.
   */
  putWaiter(row: WaiterRow): void
  deleteWaiter(row: WaiterRow): void
  /** The life of that session in milliseconds; undefined if it has ended before or in this entry. */
  sessionLife(session: number): number | undefined
  /** A waiter was granted this hold in this entry: the waiter's member pushes ownerOfHold(row, now) to it. */
  granted(row: HoldRow): void

  // Each list below is complete when the call returns, because the rules delete and write rows while they
  // iterate.

  /**
   * Waiters with now > deadline, without those whose deadline is 0. They come in the order of CT3: by
   * deadline, then arrival.
   */
  dueWaiters(): Iterable<WaiterRow>
  /**
   * Holds with now > overAt(row), in the order of overAt, then key. A row needs to be listed only once: what
   * is left of it is an expired row without waiters, and no waiter can queue behind such a row.
   */
  dueHolds(): Iterable<HoldRow>
  /**
   * Rows with now > reclaimAt(row), which have been over for an hour, in the order of reclaimAt, then key.
   */
  reclaimableHolds(): Iterable<HoldRow>
  /** The waiters of a session, and below the grants that the session has not touched yet. */
  waitersOf(session: number): Iterable<WaiterRow>
  untouchedHoldsOf(session: number): Iterable<HoldRow>
}
