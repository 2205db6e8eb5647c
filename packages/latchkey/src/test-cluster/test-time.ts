// Driver: owns the time of a test cluster: what is due, in its order, one event a turn of the event loop.
//
// Laws
//   - Before the next event every promise that can go on has gone on, so an event sees all that the one before it led to.
//   - Time that stands moves in `advance` and `until` only, from one event to the next. What is due at the time that is has no need of
//     them: a cluster whose network and disks take no time answers while its clocks stand.
//   - Time that runs is the system's, whatever a test runner makes of the global timers.
//   - After `close` nothing runs, and no timer is left.

import { microtask, nextTurn, systemClock, type Timer } from '@latchkey/base'
import { EventHeap, type Timeline } from '@latchkey/raft/memory'
import { uptime } from 'node:os'

/** Turns of the event loop that are asked for at once while time is moved: between two of them all promises go on. */
const TURNS = 64

const call = (run: () => void): void => run()

export class TestTime implements Timeline {
  readonly #heap = new EventHeap()
  readonly #clock = systemClock(uptime)
  /** Microseconds at the time when it began to run; while it stands, the time that is. */
  #base = 0
  /** Undefined while time stands; else the system's milliseconds when it began to run. */
  #runsSince: number | undefined
  #armed = false
  #timer: Timer | undefined
  #timerAt = Number.POSITIVE_INFINITY
  /** How far time may be moved by now, and what ends the moving. */
  #moving: { readonly end: number; readonly done: () => boolean; readonly over: () => void } | undefined
  #queue: Promise<void> = Promise.resolve()
  #closed = false

  /** Milliseconds since 1970, of the system. */
  static wall(): number {
    return systemClock(uptime).instant().wall
  }

  get now(): number {
    if (this.#runsSince === undefined) return this.#base
    return this.#base + Math.floor((this.#clock.now() - this.#runsSince) * 1000)
  }

  later(micros: number, run: () => void): void {
    this.at(this.now + Math.floor(micros), run)
  }

  at(micros: number, run: () => void): void {
    if (this.#closed) return
    this.#heap.push(Math.max(this.now, Math.floor(micros)), call, run)
    this.#arm()
  }

  /** From now on time is the system's. */
  run(): void {
    this.#runsSince = this.#clock.now()
    this.#arm()
  }

  /** Moves time that stands. One call after another. */
  advance(millis: number): Promise<void> {
    return this.#inTurn(() => this.#move(this.#base + millis * 1000, () => false))
  }

  /** Moves time that stands until `done`, at most so far; waits as long where it runs. */
  until(done: () => boolean, mostMillis: number): Promise<void> {
    if (this.#runsSince !== undefined) return this.#watch(done, this.#clock.now() + mostMillis)
    return this.#inTurn(() => this.#move(this.#base + mostMillis * 1000, done))
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    while (this.#heap.pop() !== undefined);
    this.#moving?.over()
    this.#moving = undefined
  }

  #inTurn(move: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(move)
    return this.#queue
  }

  // ---- time that stands

  #move(end: number, done: () => boolean): Promise<void> {
    if (this.#closed) return Promise.resolve()
    return new Promise((over) => {
      this.#moving = { end, done, over }
      this.#turns()
    })
  }

  #turns(): void {
    for (let i = 0; i < TURNS; i++) nextTurn(this.#step)
    nextTurn(() => {
      if (this.#moving !== undefined) this.#turns()
    })
  }

  /** The next event, also if time has to be moved to it. */
  readonly #step = (): void => {
    const moving = this.#moving
    if (moving === undefined || this.#closed) return
    const next = this.#heap.peekTime() ?? Number.POSITIVE_INFINITY
    if (next <= this.#base) return this.#runNext()
    if (next <= moving.end && !moving.done()) {
      this.#base = next
      return this.#runNext()
    }
    if (!moving.done()) this.#base = moving.end
    this.#moving = undefined
    this.#arm()
    moving.over()
  }

  // ---- what is due

  #arm(): void {
    if (this.#armed || this.#closed || this.#moving !== undefined) return
    const next = this.#heap.peekTime()
    if (next === undefined) return
    if (next <= this.now) {
      this.#armed = true
      nextTurn(this.#turn)
    } else if (this.#runsSince !== undefined && next < this.#timerAt) {
      this.#timer?.cancel()
      this.#timerAt = next
      this.#timer = this.#clock.after((next - this.now) / 1000, this.#ring)
    }
  }

  readonly #ring = (): void => {
    this.#timerAt = Number.POSITIVE_INFINITY
    this.#arm()
  }

  readonly #turn = (): void => {
    this.#armed = false
    if (this.#closed) return
    if ((this.#heap.peekTime() ?? Number.POSITIVE_INFINITY) <= this.now) this.#runNext()
    this.#arm()
  }

  #runNext(): void {
    const event = this.#heap.pop()
    try {
      event?.run(event.payload as never)
    } catch (error) {
      // As an error in a callback of Node's is: the process hears of it, and the cluster goes on.
      microtask(() => {
        throw error
      })
    }
  }

  // ---- time that runs

  #watch(done: () => boolean, end: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (done() || this.#closed || this.#clock.now() >= end) resolve()
        else this.#clock.after(LOOK_MS, look)
      }
      look()
    })
  }
}

const LOOK_MS = 2
