// Driver: owns locks in the memory of one process, for tests and for programs of a single process. This
// engine is the shortest one: read it before you write an engine.

import { uptime } from 'node:os'
import { binary, type Clock, compareBytes, startsWith, systemClock } from '@latchkey/base'
import type { EngineHold, ReleaseAnswer, TakeAnswer, TakeRequest } from '@latchkey/lock'
import type { ContextArg, LockInfoResult } from '@latchkey/protocol'

interface Hold extends EngineHold {
  readonly since: number
}

interface Waiter {
  readonly id: string
  readonly context: ContextArg
  readonly since: number
  /** The time at which the waiter leaves the queue, unless the waiter asks again before. */
  patientUntil: number
}

interface Lock {
  readonly key: Uint8Array
  hold: Hold | undefined
  readonly queue: Waiter[]
}

/** Each `memoryLocks({ memory })` with the same memory is one more client of the same locks. */
export class LockMemory {
  readonly #clock: Clock
  readonly #locks = new Map<string, Lock>()
  readonly #listeners = new Set<(id: string) => void>()
  #token = 0

  constructor(clock: Clock = systemClock(uptime)) {
    this.#clock = clock
  }

  /**
   * The time of a monotonic clock in whole milliseconds. The time is greater than 0, because callers treat 0
   * as unknown. Each method of this class reads this property only once. With two readings, a take could end
   * a hold at the later time and begin the next hold at the earlier time.
   */
  get now(): number {
    return Math.floor(this.#clock.now()) + 1
  }

  listen(wake: (id: string) => void): () => void {
    this.#listeners.add(wake)
    return () => this.#listeners.delete(wake)
  }

  take({ key, id, lease, context, queues, patience, before }: TakeRequest): TakeAnswer {
    const { now } = this
    if (now > before) return { now, code: 'LATE', hold: undefined, queued: false }
    this.#reclaimOne(now)
    const lock = this.#lock(key, now)
    const held = inForce(lock, now)
    if (held?.id === id) {
      const deadline = Math.max(held.deadline, now + lease)
      const hold = { ...held, deadline, acquires: held.acquires + 1, context: context ?? held.context }
      lock.hold = hold
      return { now, code: 'REENTRANT', hold, queued: false }
    }
    const place = lock.queue.findIndex((waiter) => waiter.id === id)
    if (held === undefined && (place === 0 || lock.queue.length === 0)) {
      const code = lock.hold === undefined ? 'FIRST_TIME' : 'NEW_ACQUIRE'
      if (place === 0) lock.queue.shift()
      const hold = { id, token: ++this.#token, deadline: now + lease, acquires: 1, context, since: now }
      lock.hold = hold
      return { now, code, hold, queued: false }
    }
    if (queues) {
      const waiter = lock.queue[place] ?? { id, context, since: now, patientUntil: 0 }
      waiter.patientUntil = now + patience
      if (place < 0) lock.queue.push(waiter)
    }
    const again = lock.queue[0]?.id === id && held !== undefined ? held.deadline + 1 - now : undefined
    this.#forget(lock)
    return { now, code: 'HELD', hold: held, queued: queues, again }
  }

  renew(key: Uint8Array, id: string, lease: number): EngineHold | undefined {
    const { now } = this
    return this.#change(key, id, now, (hold) => ({ ...hold, deadline: Math.max(hold.deadline, now + lease) }))
  }

  rotate(key: Uint8Array, id: string): EngineHold | undefined {
    return this.#change(key, id, this.now, (hold) => ({ ...hold, token: ++this.#token }))
  }

  release(key: Uint8Array, id: string, all: boolean): ReleaseAnswer {
    const { now } = this
    const lock = this.#locks.get(binary(key))
    const hold = lock?.hold
    if (lock === undefined || hold === undefined) return { now, code: 'NOT_HELD', hold: undefined }
    if (inForce(lock, now) === undefined) return { now, code: hold.id === id ? 'EXPIRED' : 'NOT_HELD', hold }
    if (hold.id !== id) return { now, code: 'NOT_OWNER', hold }
    if (!all && hold.acquires > 1) {
      lock.hold = { ...hold, acquires: hold.acquires - 1 }
      return { now, code: 'DECREMENTED', hold: lock.hold }
    }
    this.#end(lock, now)
    return { now, code: 'RELEASED', hold }
  }

  /**
   * Ends the hold or the wait of the id. Returns the token of the hold that ended, or 0 if the id had no
   * hold.
   */
  cancel(key: Uint8Array, id: string): number {
    const lock = this.#locks.get(binary(key))
    if (lock === undefined) return 0
    const { now } = this
    const held = inForce(lock, now)
    const place = lock.queue.findIndex((waiter) => waiter.id === id)
    if (place >= 0) lock.queue.splice(place, 1)
    if (held?.id === id) this.#end(lock, now)
    else if (place === 0 && held === undefined) this.#wakeFirst(lock, now)
    this.#forget(lock)
    return held?.id === id ? held.token : 0
  }

  forceRelease(key: Uint8Array, token: number): boolean {
    const { now } = this
    const lock = this.#locks.get(binary(key))
    if (lock === undefined || inForce(lock, now)?.token !== token) return false
    this.#end(lock, now)
    return true
  }

  isHeldWith(key: Uint8Array, token: number): boolean {
    const lock = this.#locks.get(binary(key))
    return lock !== undefined && inForce(lock, this.now)?.token === token
  }

  query(isWanted: (key: Uint8Array) => boolean, queue: boolean): LockInfoResult[] {
    const { now } = this
    const rows: LockInfoResult[] = []
    for (const lock of this.#locks.values()) {
      const hold = inForce(lock, now)
      if (hold === undefined || !isWanted(lock.key)) continue
      const { id, context, token, acquires, deadline, since } = hold
      const waiters = lock.queue.filter(({ patientUntil }) => patientUntil >= now)
      const shown = queue ? waiters.map((one) => [one.id, one.context, now - one.since, 0] as const) : null
      rows.push([
        lock.key,
        id,
        context,
        token,
        acquires,
        deadline - now,
        waiters.length,
        now - since,
        shown,
        0,
      ])
    }
    return rows.sort((a, b) => compareBytes(a[0], b[0]))
  }

  #lock(key: Uint8Array, now: number): Lock {
    const name = binary(key)
    const lock = this.#locks.get(name) ?? { key: new Uint8Array(key), hold: undefined, queue: [] }
    this.#locks.set(name, lock)
    for (let i = lock.queue.length - 1; i >= 0; i--)
      if ((lock.queue[i]?.patientUntil ?? now) < now) lock.queue.splice(i, 1)
    return lock
  }

  #change(key: Uint8Array, id: string, now: number, change: (hold: Hold) => Hold): EngineHold | undefined {
    const lock = this.#locks.get(binary(key))
    const hold = lock && inForce(lock, now)
    if (lock === undefined || hold?.id !== id) return undefined
    lock.hold = change(hold)
    return lock.hold
  }

  #end(lock: Lock, now: number): void {
    lock.hold = undefined
    this.#wakeFirst(lock, now)
    this.#forget(lock)
  }

  #wakeFirst({ queue }: Lock, now: number): void {
    const first = queue.find(({ patientUntil }) => patientUntil >= now)
    if (first !== undefined) for (const wake of [...this.#listeners]) wake(first.id)
  }

  /**
   * Each take checks the lock that was not checked for the longest time, so every unused lock is removed at
   * some time.
   */
  #reclaimOne(now: number): void {
    const [oldest] = this.#locks
    if (oldest === undefined) return
    const [name, lock] = oldest
    this.#locks.delete(name)
    const isOver = lock.hold === undefined || lock.hold.deadline < now
    if (!isOver || lock.queue.some(({ patientUntil }) => patientUntil >= now)) this.#locks.set(name, lock)
  }

  /**
   * Deletes the lock if it is unused. The next hold of this key still gets a higher token, because all locks
   * take their tokens from one counter.
   */
  #forget(lock: Lock): void {
    if (lock.hold === undefined && lock.queue.length === 0) this.#locks.delete(binary(lock.key))
  }
}

const inForce = ({ hold }: Lock, now: number) =>
  hold !== undefined && now <= hold.deadline ? hold : undefined

/** True if the key begins with the prefix, or equals the prefix if `isKey` is true. */
export const isIn = (prefix: Uint8Array | null, isKey: boolean) => (key: Uint8Array) =>
  prefix === null || (isKey ? compareBytes(key, prefix) === 0 : startsWith(key, prefix))
