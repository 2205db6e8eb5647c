// Driver: owns the freshness of one store's bound of cluster time (CT6): while anybody holds or waits, it is renewed at least every
// third of the shortest lease concerned. One timer and one read at a time serve all locks.

import type { Timer } from '@latchkey/base'
import { READ } from '@latchkey/protocol'
import type { LockPort } from './port.js'

interface Concern {
  readonly lease: number
  /** Looks at the clocks: one that stepped or slept is noticed here at the latest. */
  readonly check: () => void
}

const SHORTEST_PAUSE = 10

export class BoundKeeper {
  readonly #port: LockPort
  #concerns = new Set<Concern>()
  #third = Number.POSITIVE_INFINITY
  #timer: Timer | undefined
  #reading = false

  constructor(port: LockPort) {
    this.#port = port
    port.closed.addEventListener('abort', () => this.#timer?.cancel(), { once: true })
  }

  /** Until the returned function is called. */
  concern(lease: number, check: () => void): () => void {
    const concern = { lease, check }
    this.#concerns.add(concern)
    if (lease / 3 < this.#third) this.#arm()
    return () => {
      if (this.#concerns.delete(concern) && this.#concerns.size === 0) this.#stop()
    }
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#third = Number.POSITIVE_INFINITY
  }

  #arm(): void {
    this.#timer?.cancel()
    if (this.#concerns.size === 0 || this.#port.closed.aborted) return
    let shortest = Number.POSITIVE_INFINITY
    for (const { lease } of this.#concerns) shortest = Math.min(shortest, lease)
    this.#third = shortest / 3
    const age = this.#port.bound.age(this.#port.clock.instant())
    const left = age < this.#third ? this.#third - age : this.#third / 4
    this.#timer = this.#port.clock.after(Math.max(SHORTEST_PAUSE, left), this.#tick, { ref: false })
  }

  #tick = (): void => {
    for (const { check } of [...this.#concerns]) check()
    const { bound, clock } = this.#port
    // A little early is in time; a timer that fires a hair before its third must not wait for another one.
    if (this.#concerns.size > 0 && bound.age(clock.instant()) >= this.#third * 0.9) this.#read()
    this.#arm()
  }

  /** Any confirmed read tells the cluster time; the engine teaches it to the bound. Its failure is the next tick's business. */
  #read(): void {
    if (this.#reading) return
    this.#reading = true
    const done = () => {
      this.#reading = false
      this.#arm()
    }
    this.#port.read([READ.revision], { timeout: Math.max(50, this.#third) }).then(done, done)
  }
}
