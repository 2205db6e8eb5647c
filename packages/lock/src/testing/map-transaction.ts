// Driver: the lock transaction on maps, for tests. The transaction runs one entry at a time, like the state
// machine.

import { binary, compareBytes } from '@latchkey/base'
import { endSession, expire, removeWaiters, touch } from '../rules/expiry.js'
import { overAt, reclaimAt } from '../rules/hold-checks-and-answers.js'
import type {
  HoldRow,
  LockHappening,
  LockTransaction,
  SharedHolds,
  WaiterRow,
} from '../rules/lock-transaction.js'

interface Session {
  readonly life: number
  deadline: number
}

export class MapTransaction implements LockTransaction {
  now = 0
  previous = 0
  /** The exclusive holds. */
  readonly holds = new Map<string, HoldRow>()
  /** In the order of their grants. */
  sharedHolds: HoldRow[] = []
  readonly sizes = new Map<string, number>()
  readonly sessions = new Map<number, Session>()
  grants: HoldRow[] = []
  told: string[] = []
  #waiters: WaiterRow[] = []
  #tokens = new Map<string, number>()
  #arrivals = 0

  /**
   * Runs one entry with the cluster time `now`: first ends the sessions, waits and holds that are over at
   * this time, then runs the command.
   */
  entry<T>(now: number, session: number, command: () => T): T {
    this.tick(now)
    const alive = this.sessions.get(session)
    if (alive !== undefined) {
      alive.deadline = now + alive.life
      touch(this, session)
    }
    return command()
  }

  tick(now: number): void {
    this.previous = this.now
    this.now = now
    this.grants = []
    this.told = []
    const over = [...this.sessions].filter(([, { deadline }]) => now > deadline)
    const ended = over
      .sort((a, b) => a[1].deadline - b[1].deadline || a[0] - b[0])
      .map(([session]) => session)
    for (const session of ended) this.sessions.delete(session)
    expire(
      this,
      ended.flatMap((session) => removeWaiters(this, session)),
    )
  }

  openSession(id: number, life = 30_000): void {
    this.sessions.set(id, { life, deadline: this.now + life })
  }

  end(session: number): void {
    this.sessions.delete(session)
    endSession(this, session)
  }

  hold(key: Uint8Array): HoldRow | undefined {
    return this.holds.get(binary(key))
  }
  sharedOf(key: Uint8Array): HoldRow[] {
    return this.sharedHolds.filter((row) => binary(row.key) === binary(key))
  }
  sharedHold(key: Uint8Array, id: string): HoldRow | undefined {
    return this.sharedOf(key).find((row) => row.id === id)
  }
  sharedHoldWith(key: Uint8Array, token: number): HoldRow | undefined {
    return this.sharedOf(key).find((row) => row.token === token)
  }
  shared(key: Uint8Array): SharedHolds | undefined {
    const rows = this.sharedOf(key)
    const [first] = rows
    return first && { first, permits: rows.reduce((sum, { permits }) => sum + permits, 0) }
  }
  permitsOf(key: Uint8Array): number | undefined {
    return this.sizes.get(binary(key))
  }
  setPermits(key: Uint8Array, of: number): void {
    this.sizes.set(binary(key), of)
  }
  putHold(row: HoldRow): void {
    if (row.permits === 0) {
      this.holds.set(binary(row.key), row)
      return
    }
    this.sharedHolds = [...this.sharedHolds.filter(({ arrival }) => arrival !== row.arrival), row].sort(
      (a, b) => a.arrival - b.arrival,
    )
  }
  taken(): void {}
  happened(what: LockHappening, row: HoldRow | WaiterRow): void {
    this.told.push(`${what} ${row.id}`)
  }
  deleteHold(row: HoldRow): void {
    if (row.permits === 0) this.holds.delete(binary(row.key))
    else this.sharedHolds = this.sharedHolds.filter(({ arrival }) => arrival !== row.arrival)
  }
  nextToken(fencingKey: Uint8Array | null): number {
    const counter = fencingKey === null ? '' : binary(fencingKey)
    const token = (this.#tokens.get(counter) ?? 0) + 1
    this.#tokens.set(counter, token)
    return token
  }
  firstWaiter(key: Uint8Array): WaiterRow | undefined {
    return this.queue(key)[0]
  }
  waiter(key: Uint8Array, id: string): WaiterRow | undefined {
    return this.queue(key).find((row) => row.id === id)
  }
  waiterOfSet(arrival: number): WaiterRow | undefined {
    return this.#waiters.find((row) => row.setCount > 0 && row.arrival === arrival)
  }
  waiterCount(key: Uint8Array): number {
    return this.queue(key).length
  }
  waitersOfFlow(name: string): WaiterRow[] {
    return this.#waiters
      .filter(({ flow, within }) => flow === name || within.includes(name))
      .sort((a, b) => a.arrival - b.arrival)
  }
  queueOf(key: Uint8Array): WaiterRow[] {
    return this.queue(key)
  }
  nextArrival(): number {
    return ++this.#arrivals
  }
  putWaiter(row: WaiterRow): void {
    this.deleteWaiter(row)
    this.#waiters.push(row)
  }
  deleteWaiter(row: WaiterRow): void {
    this.#waiters = this.#waiters.filter((other) => other.arrival !== row.arrival)
  }
  sessionLife(session: number): number | undefined {
    return this.sessions.get(session)?.life
  }
  granted(row: HoldRow): void {
    this.grants.push(row)
  }
  dueWaiters(): WaiterRow[] {
    const due = this.#waiters.filter((row) => row.deadline !== 0 && this.now > row.deadline)
    return due.sort((a, b) => a.deadline - b.deadline || a.arrival - b.arrival)
  }
  dueHolds(): HoldRow[] {
    return this.#sorted(overAt)
  }
  reclaimableHolds(): HoldRow[] {
    return this.#sorted(reclaimAt)
  }
  waitersOf(session: number): WaiterRow[] {
    return this.#waiters.filter((row) => row.session === session)
  }
  untouchedHoldsOf(session: number): HoldRow[] {
    return this.all().filter((row) => row.session === session && row.touchBy !== 0)
  }

  queue(key: Uint8Array): WaiterRow[] {
    const rows = this.#waiters.filter((row) => binary(row.key) === binary(key))
    return rows.sort((a, b) => a.arrival - b.arrival)
  }

  all(): HoldRow[] {
    return [...this.holds.values(), ...this.sharedHolds]
  }

  #sorted(end: (row: HoldRow) => number): HoldRow[] {
    const due = this.all().filter((row) => this.now > end(row))
    return due.sort((a, b) => end(a) - end(b) || compareBytes(a.key, b.key) || a.arrival - b.arrival)
  }

  nextDeadline(): number | undefined {
    const ends = [
      ...this.#waiters.map((row) => row.deadline).filter((deadline) => deadline !== 0),
      ...this.all()
        .filter((row) => this.waiterCount(row.key) > 0)
        .map(overAt),
      ...[...this.sessions.values()].map(({ deadline }) => deadline),
    ]
    return ends.length === 0 ? undefined : Math.min(...ends)
  }
}
