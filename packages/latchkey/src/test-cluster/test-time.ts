// Driver: the time of a test cluster. This file runs the due events in their order, one event in each turn of
// the event loop.
//
// Laws
// - Between two events, the callbacks of all settled promises run. So an event sees all effects of the event
//   before.
// - Manual time advances only in the calls `advance` and `until`, from one event to the next. An event that
//   is due now also runs while manual time stands still. So members answer requests also while time stands
//   still, because network and disks have no delays.
// - Real time is the system's time, even if a test runner replaces the global timers.
// - After `close`, no event runs and no timer remains.

import { microtask, nextTurn, systemClock, type Timer } from '@latchkey/base'
import { EventHeap, type Timeline } from '@latchkey/raft/memory'
import { uptime } from 'node:os'

/**
 * This many turns of the event loop are scheduled together, which is faster than to schedule each turn alone.
 * Between two turns, the callbacks of all settled promises run.
 */
const TURNS = 64

const call = (run: () => void): void => run()

export class TestTime implements Timeline {
  readonly #heap = new EventHeap()
  readonly #clock = systemClock(uptime)
  /** In microseconds: the simulated time, or its last value after the change to real time. */
  #base = 0
  /** In ms. The system's time at the change to real time. Undefined as long as time is manual. */
  #runsSince: number | undefined
  #armed = false
  #timer: Timer | undefined
  #timerAt = Number.POSITIVE_INFINITY
  /**
   * The call of `advance` or `until` in progress. At the time `end`, or when `done` returns true, the call
   * ends and `over` resolves its promise.
   */
  #moving: { readonly end: number; readonly done: () => boolean; readonly over: () => void } | undefined
  #queue: Promise<void> = Promise.resolve()
  #closed = false

  /** In milliseconds since 1970. */
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

  /** Changes from manual time to real time. */
  run(): void {
    this.#runsSince = this.#clock.now()
    this.#arm()
  }

  /** Two calls run one after the other. */
  advance(millis: number): Promise<void> {
    return this.#inTurn(() => this.#move(this.#base + millis * 1000, () => false))
  }

  /**
   * Waits until `done` returns true or `mostMillis` have passed. If time is manual, this method advances the
   * time.
   */
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
      // The error becomes an uncaught error of the process, like an error in a timer of Node. The cluster
      // continues.
      microtask(() => {
        throw error
      })
    }
  }

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
