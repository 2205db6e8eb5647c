// Rule: the transaction of the lock rules over the tables of a store.

import {
  type HoldRow,
  type LockHappening,
  type LockTransaction,
  type LockView,
  type WaiterRow,
  overAt,
} from '@latchkey/lock'
import type { LockEvents } from '../state/lock-events.js'
import type { State } from '../state/state.js'

/** The state as a read at `now` sees it; the entry that is being applied extends it below. */
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
  /** The row of the last put, as the table keeps it. */
  #put: HoldRow | WaiterRow | undefined

  constructor(state: State, now: number, granted: (row: HoldRow) => void, events: LockEvents) {
    super(state, now)
    this.#events = events
    this.#granted = granted
  }

  putHold(row: HoldRow): void {
    this.#put = this.state.holds.put(row)
  }
  /**
   * Records an event for watches of locks. After a restart an expired hold is found again (holds.ts). It gets
   * an event only at the first entry after its end, as on the members that did not restart.
   */
  happened(what: LockHappening, row: HoldRow | WaiterRow): void {
    if (what === 'renewed' && this.#events.renewalWatches === 0) return
    const { revision, position } = this.state.meta
    if (what === 'expired' && overAt(row as HoldRow) < position.time) return
    const wasPut = what === 'acquired' || what === 'renewed' || what === 'queued'
    this.#events.record(what, wasPut ? (this.#put ?? row) : row, revision)
  }
  deleteHold(key: Uint8Array): void {
    this.state.holds.delete(key)
  }
  nextToken(fencingKey: Uint8Array | null): number {
    return this.state.counters.next(fencingKey)
  }
  firstWaiter(key: Uint8Array): WaiterRow | undefined {
    return this.state.waiters.first(key)
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
  untouchedHoldsOf(session: number): HoldRow[] {
    return this.state.holds.untouchedOf(session)
  }
}
