// Rule: the transaction over which the lock rules decide. kv implements it on its rows; tests on maps.

import type { ContextArg } from '@latchkey/protocol'

/** A hold. It stays after its lease is over, until somebody takes over, its owner releases, or it is reclaimed. */
export interface HoldRow {
  readonly key: Uint8Array
  readonly id: string
  readonly token: number
  readonly acquires: number
  /** Cluster time; over at an entry with now > deadline. */
  readonly deadline: number
  readonly context: ContextArg
  /** The counter its tokens come from; null: the store's. */
  readonly fencingKey: Uint8Array | null
  /** The session that made it. */
  readonly session: number
  /** A grant to a waiter that its session has not touched yet ends when now > touchBy; 0: touched, or never queued. */
  readonly touchBy: number
  /** How it was got: CODE.FIRST_TIME or CODE.NEW_ACQUIRE. A ticket asked for later, and a push, say the same. */
  readonly code: number
}

export interface WaiterRow {
  readonly key: Uint8Array
  /** Arrival order, from one counter of the store; never used again. */
  readonly arrival: number
  readonly id: string
  readonly session: number
  /** Its wait is over at an entry with now > deadline; 0: waits without limit. */
  readonly deadline: number
  readonly lease: number
  readonly context: ContextArg
  readonly fencingKey: Uint8Array | null
}

/** What reads need. `now` of a linearizable read: its proven cluster time, at least that of the last applied entry. */
export interface LockView {
  readonly now: number
  hold(key: Uint8Array): HoldRow | undefined
  waiter(key: Uint8Array, id: string): WaiterRow | undefined
  waiterCount(key: Uint8Array): number
}

export interface LockTransaction extends LockView {
  /** Cluster time of the entry. */
  readonly now: number
  hold(key: Uint8Array): HoldRow | undefined
  putHold(row: HoldRow): void
  deleteHold(key: Uint8Array): void
  /** The next token of that counter: above every one it ever gave. */
  nextToken(fencingKey: Uint8Array | null): number
  firstWaiter(key: Uint8Array): WaiterRow | undefined
  waiter(key: Uint8Array, id: string): WaiterRow | undefined
  waiterCount(key: Uint8Array): number
  nextArrival(): number
  /** A row of that (key, id) is replaced; its arrival stays, its session may be another one. */
  putWaiter(row: WaiterRow): void
  deleteWaiter(row: WaiterRow): void
  /** Is that session alive in this entry, and how long does it live? undefined: ended. */
  sessionLife(session: number): number | undefined
  /** The hold was handed to a waiter in this entry: its member pushes ownerOfHold(row, now). */
  granted(row: HoldRow): void

  // Each list below is fixed at the call: the rules delete and write rows while they walk along it.

  /** Waiters with now > deadline (deadline 0: never), in the order of CT3: by deadline, then arrival. */
  dueWaiters(): Iterable<WaiterRow>
  /**
   * Holds with now > overAt(row), by overAt, then key. A row that was told once need not be told again: what stays of it is an
   * expired row without waiters, and nobody can join a queue behind such a row.
   */
  dueHolds(): Iterable<HoldRow>
  /** Rows with now > reclaimAt(row): over for an hour, by reclaimAt, then key. */
  reclaimableHolds(): Iterable<HoldRow>
  /** What a session left behind or has yet to touch. */
  waitersOf(session: number): Iterable<WaiterRow>
  untouchedHoldsOf(session: number): Iterable<HoldRow>
}
