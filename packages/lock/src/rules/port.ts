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

export interface LockTransaction {
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
  putWaiter(row: WaiterRow): void
  deleteWaiter(row: WaiterRow): void
  /** Is that session alive in this entry, and how long does it live? undefined: ended. */
  sessionLife(session: number): number | undefined
  /** The hold was handed to a waiter in this entry: its member pushes it. */
  granted(row: HoldRow): void

  /** Everything with a deadline that is over (now > deadline), in the order of CT3: by deadline, then arrival or key. */
  dueWaiters(): Iterable<WaiterRow>
  dueHolds(): Iterable<HoldRow>
  /** What a session left behind or has yet to touch. */
  waitersOf(session: number): Iterable<WaiterRow>
  untouchedHoldsOf(session: number): Iterable<HoldRow>
}
