// Rule: the transaction through which the lock rules read and write. packages/kv implements the transaction
// on its rows, and tests implement the transaction on maps.

import type { ContextArg, LockEventName } from '@latchkey/protocol'

/**
 * A hold. A lock has either one exclusive hold or any number of shared holds. A semaphore has shared holds
 * only. The row of an exclusive hold stays after the end of its lease. The row is removed when another
 * acquirer takes the lock, when the owner releases the lock, or after RECLAIM_AFTER. The row of a shared hold
 * is removed at the end of its lease.
 */
export interface HoldRow {
  readonly key: Uint8Array
  readonly id: string
  /** The present fencing token. A guarded write with another token is refused. */
  readonly token: number
  /**
   * The first token of this hold. A rotation gives the hold a new token. A request of the owner may still
   * carry an older token of the hold.
   */
  readonly firstToken: number
  readonly acquires: number
  readonly deadline: number
  readonly context: ContextArg
  /** The key of the counter that gave the token. null means the store's own counter. */
  readonly fencingKey: Uint8Array | null
  /** The session of the command that made this hold, or of the waiter that got the lock. */
  readonly session: number
  /** The cluster time of the entry that granted this hold. */
  readonly since: number
  /**
   * A waiter's session must confirm a grant by sending any command. If cluster time passes touchBy before a
   * command is applied, the grant ends. 0 if the grant is confirmed, or if the holder did not wait.
   */
  readonly touchBy: number
  /**
   * CODE.NEW_ACQUIRE if an earlier hold of the lock had expired, and otherwise CODE.FIRST_TIME. If the holder
   * waited for the lock, the member also pushes this code to the holder's client.
   */
  readonly code: number
  /**
   * 0 means that the hold is exclusive. Otherwise the hold is shared. The number is 1 for a lock, and the
   * number of permits for a semaphore.
   */
  readonly permits: number
  /**
   * The number of this hold in the order of grants. Holds and waiters take their numbers from one counter.
   */
  readonly arrival: number
  /**
   * The name of the flow, or null. A flow is work that takes its locks one at a time (docs/locks.md, section
   * 13).
   */
  readonly flow: string | null
}

export interface SharedHolds {
  readonly permits: number
  /** The shared hold that was granted first. */
  readonly first: HoldRow
}

export interface WaiterRow {
  readonly key: Uint8Array
  /** The waiter's number in the order of arrival. Waiters and holds take their numbers from one counter. */
  readonly arrival: number
  readonly id: string
  readonly session: number
  /** The cluster time of the entry in which the waiter joined the queue. */
  readonly since: number
  /** The cluster time at which the wait ends. 0 means that the wait has no limit. */
  readonly deadline: number
  readonly lease: number
  readonly context: ContextArg
  readonly fencingKey: Uint8Array | null
  /** 0 if the waiter wants an exclusive hold. Otherwise the permits of the wanted shared hold. */
  readonly permits: number
  /**
   * The waiters for a set of keys have consecutive arrival numbers: `setCount` numbers, from `setFirst` on.
   * The two fields are 0 if the waiter waits for one key alone.
   */
  readonly setFirst: number
  readonly setCount: number
  /** The flow that the caller has named, or null. */
  readonly flow: string | null
  /** The ids of the holds of the withLock calls around the request, the innermost hold first. */
  readonly within: readonly string[]
}

/**
 * Reads the rows of locks. `now` is the cluster time of the read. For a linearizable read, `now` is not
 * before the time of the last applied entry.
 */
export interface LockView {
  readonly now: number
  /** The exclusive hold, in force or not. */
  hold(key: Uint8Array): HoldRow | undefined
  sharedHold(key: Uint8Array, id: string): HoldRow | undefined
  sharedHoldWith(key: Uint8Array, token: number): HoldRow | undefined
  shared(key: Uint8Array): SharedHolds | undefined
  waiter(key: Uint8Array, id: string): WaiterRow | undefined
  waiterCount(key: Uint8Array): number
  queueOf(key: Uint8Array): Iterable<WaiterRow>
}

export type LockHappening = LockEventName

export interface LockTransaction extends LockView {
  /** The cluster time of the present entry. */
  readonly now: number
  /** The cluster time of the previous entry. */
  readonly previous: number
  putHold(row: HoldRow): void
  /** Records an event for watches of locks. For a hold or waiter that was removed, `row` is its last row. */
  happened(what: LockHappening, row: HoldRow | WaiterRow): void
  /** Counts a hold that `forceRelease` or `steal` ends, for the metrics. */
  taken(row: HoldRow): void
  deleteHold(row: HoldRow): void
  /**
   * How many permits the semaphore has. Undefined if no caller has given the number yet, or if the key is no
   * semaphore.
   */
  permitsOf(key: Uint8Array): number | undefined
  setPermits(key: Uint8Array, of: number): void
  /**
   * Returns the next token of the counter `fencingKey`. null is the store's own counter. The token is higher
   * than every earlier token of this counter.
   */
  nextToken(fencingKey: Uint8Array | null): number
  sharedOf(key: Uint8Array): Iterable<HoldRow>
  firstWaiter(key: Uint8Array): WaiterRow | undefined
  waiterOfSet(arrival: number): WaiterRow | undefined
  nextArrival(): number
  /**
   * Stores the row, or replaces the row with the same key and id. The replaced row had the same arrival
   * number, but may have had another session.
   */
  putWaiter(row: WaiterRow): void
  deleteWaiter(row: WaiterRow): void
  /**
   * In ms: how long the session stays open after each command. Undefined if the session has ended in this
   * entry or before.
   */
  sessionLife(session: number): number | undefined
  /**
   * Called when a waiter was granted this hold. The member to which the waiter's client is connected pushes
   * ownerOfHold(row, now) to the client.
   */
  granted(row: HoldRow): void

  // Each of the following methods must make its whole list before it returns, because the rules delete and
  // write rows while they iterate.

  /** The waiters whose deadline is over, in the order of their deadlines and then of their arrival (CT3). */
  dueWaiters(): Iterable<WaiterRow>
  /**
   * The holds whose overAt(row) is over, in the order of overAt, then of the key, then of the arrival. A row
   * that was listed at an earlier entry may be listed again.
   */
  dueHolds(): Iterable<HoldRow>
  /**
   * The rows of holds that ended more than an hour ago (reclaimAt), in the order of reclaimAt and then of the
   * key.
   */
  reclaimableHolds(): Iterable<HoldRow>
  waitersOf(session: number): WaiterRow[]
  /**
   * Returns the waiters of the flow with that name (HoldRow.flow), in the order of arrival. If `name` is the
   * id of a hold of withLock, returns the waiters whose requests were made in the callback of that withLock.
   */
  waitersOfFlow(name: string): WaiterRow[]
  /** The grants of a session that the session has not confirmed yet (HoldRow.touchBy). */
  untouchedHoldsOf(session: number): Iterable<HoldRow>
}
