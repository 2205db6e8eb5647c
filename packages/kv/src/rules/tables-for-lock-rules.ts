// Rule: gives the rules of locks (packages/lock) access to the tables of a store.

import {
  type HoldRow,
  type LockHappening,
  type LockTransaction,
  type LockView,
  type SharedHolds,
  type WaiterRow,
} from '@latchkey/lock'
import type { LockEvents } from '../state/lock-events.js'
import type { State } from '../state/store-state.js'

/**
 * The tables for a read at the cluster time `now`. StateLockTransaction adds the methods that change the
 * tables.
 */
export class StateLockView implements LockView {
  readonly now: number
  protected readonly state: State

  constructor(state: State, now: number) {
    this.state = state
    this.now = now
  }

  hold(key: Uint8Array): HoldRow | undefined {
    return this.state.holds.get(key)
  }
  sharedHold(key: Uint8Array, id: string): HoldRow | undefined {
    return this.state.holds.sharedHold(key, id)
  }
  sharedHoldWith(key: Uint8Array, token: number): HoldRow | undefined {
    return this.state.holds.sharedHoldWith(key, token)
  }
  shared(key: Uint8Array): SharedHolds | undefined {
    return this.state.holds.shared(key)
  }
  waiter(key: Uint8Array, id: string): WaiterRow | undefined {
    return this.state.waiters.get(key, id)
  }
  waiterCount(key: Uint8Array): number {
    return this.state.waiters.count(key)
  }
  queueOf(key: Uint8Array): Iterable<WaiterRow> {
    return this.state.waiters.of(key)
  }
}

export class StateLockTransaction extends StateLockView implements LockTransaction {
  readonly #granted: (row: HoldRow) => void
  readonly #events: LockEvents
  /**
   * The table's own copy of the hold or waiter that was put last. `happened` puts this copy into the event.
   */
  #put: HoldRow | WaiterRow | undefined

  constructor(state: State, now: number, granted: (row: HoldRow) => void, events: LockEvents) {
    super(state, now)
    this.#events = events
    this.#granted = granted
  }

  get previous(): number {
    return this.state.meta.position.time
  }
  putHold(row: HoldRow): void {
    this.#put = this.state.holds.put(row)
  }
  /**
   * Counts grants and expiries for metrics, and records each event for the clients that watch locks. A
   * renewal is recorded only if a client watches renewals.
   */
  happened(what: LockHappening, row: HoldRow | WaiterRow): void {
    if (what === 'renewed' && this.#events.renewalWatches === 0) return
    const { revision } = this.state.meta
    if (what === 'acquired') this.state.lockCounts.granted(row)
    if (what === 'expired') this.state.lockCounts.expired(row)
    const wasPut = what !== 'expired' && what !== 'released' && what !== 'left'
    this.#events.record(what, wasPut ? (this.#put ?? row) : row, revision, this.now)
  }
  taken(row: HoldRow): void {
    this.state.lockCounts.taken(row)
  }
  deleteHold(row: HoldRow): void {
    this.state.holds.delete(row)
  }
  permitsOf(key: Uint8Array): number | undefined {
    return this.state.semaphores.get(key)
  }
  setPermits(key: Uint8Array, of: number): void {
    this.state.semaphores.set(key, of, this.now)
  }
  /** Removes semaphores that were unused for an hour and have no holder and no waiter. */
  forgetSemaphores(): void {
    const { holds, semaphores, waiters } = this.state
    semaphores.forget(this.now, (key) => holds.shared(key) !== undefined || waiters.count(key) > 0)
  }
  nextToken(fencingKey: Uint8Array | null): number {
    return this.state.counters.next(fencingKey)
  }
  sharedOf(key: Uint8Array): Iterable<HoldRow> {
    return this.state.holds.sharedOf(key)
  }
  firstWaiter(key: Uint8Array): WaiterRow | undefined {
    return this.state.waiters.first(key)
  }
  waiterOfSet(arrival: number): WaiterRow | undefined {
    return this.state.waiters.ofSet(arrival)
  }
  nextArrival(): number {
    return this.state.meta.arrival++
  }
  putWaiter(row: WaiterRow): void {
    this.#put = this.state.waiters.put(row)
  }
  deleteWaiter(row: WaiterRow): void {
    this.state.waiters.delete(row)
  }
  sessionLife(session: number): number | undefined {
    return this.state.sessions.get(session)?.life
  }
  granted(row: HoldRow): void {
    this.#granted(row)
  }
  dueWaiters(): WaiterRow[] {
    return this.state.waiters.takeDue(this.now)
  }
  dueHolds(): HoldRow[] {
    return this.state.holds.takeDue(this.now)
  }
  reclaimableHolds(): HoldRow[] {
    return this.state.holds.takeReclaimable(this.now)
  }
  waitersOf(session: number): WaiterRow[] {
    return this.state.waiters.ofSession(session)
  }
  waitersOfFlow(name: string): WaiterRow[] {
    return this.state.waiters.ofFlow(name)
  }
  untouchedHoldsOf(session: number): HoldRow[] {
    return this.state.holds.untouchedOf(session)
  }
}
