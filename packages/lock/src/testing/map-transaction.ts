// Driver: the lock transaction on maps, for tests. It runs one entry at a time, as the state machine does.

import { binary } from '@latchkey/base'
import { endSession, expire, touch } from '../rules/expiry.js'
import { overAt, reclaimAt } from '../rules/lock-answers.js'
import type { HoldRow, LockHappening, LockTransaction, WaiterRow } from '../rules/lock-transaction.js'

interface Session {
  readonly life: number
  deadline: number
}

export class MapTransaction implements LockTransaction {
  now = 0
  readonly holds = new Map<string, HoldRow>()
  readonly sessions = new Map<number, Session>()
  /** The grants of the current entry. */
  grants: HoldRow[] = []
  /** The events of locks in the current entry. */
  told: string[] = []
  #waiters: WaiterRow[] = []
  #tokens = new Map<string, number>()
  #arrivals = 0

  /** Runs one entry: first the effects of its time, then its command. */
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
    this.now = now
    this.grants = []
    this.told = []
    const over = [...this.sessions].filter(([, { deadline }]) => now > deadline)
    for (const [session] of over.sort((a, b) => a[1].deadline - b[1].deadline || a[0] - b[0]))
      this.end(session)
    expire(this)
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
  putHold(row: HoldRow): void {
    this.holds.set(binary(row.key), row)
  }
  happened(what: LockHappening, row: HoldRow | WaiterRow): void {
    this.told.push(`${what} ${row.id}`)
  }
  deleteHold(key: Uint8Array): void {
    this.holds.delete(binary(key))
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
  waiterCount(key: Uint8Array): number {
    return this.queue(key).length
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
    return [...this.holds.values()].filter((row) => row.session === session && row.touchBy !== 0)
  }

  queue(key: Uint8Array): WaiterRow[] {
    const rows = this.#waiters.filter((row) => binary(row.key) === binary(key))
    return rows.sort((a, b) => a.arrival - b.arrival)
  }

  #sorted(end: (row: HoldRow) => number): HoldRow[] {
    const due = [...this.holds.values()].filter((row) => this.now > end(row))
    return due.sort((a, b) => end(a) - end(b) || (binary(a.key) < binary(b.key) ? -1 : 1))
  }

  nextDeadline(): number | undefined {
    const ends = [
      ...this.#waiters.map((row) => row.deadline).filter((deadline) => deadline !== 0),
      ...[...this.holds.values()].filter((row) => this.waiterCount(row.key) > 0).map(overAt),
      ...[...this.sessions.values()].map(({ deadline }) => deadline),
    ]
    return ends.length === 0 ? undefined : Math.min(...ends)
  }
}
