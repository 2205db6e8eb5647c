// Driver: owns the one timer of one store's locks: it renews the bound of cluster time (CT6), at least every third of the shortest
// lease concerned while anybody holds or waits, and it is there when the time of a hold is over.

import type { Timer } from '@latchkey/base'
import { READ } from '@latchkey/protocol'
import { IndexedSet, type Indexed } from './indexed-set.js'
import type { LockPort } from './lock-port.js'

/** A hold, or a wait for one. */
export interface Concern extends Indexed {
  readonly lease: number
  /** Looks at the clocks, and ends what is over: then 0. Else the ms that are left; Infinity: it has no end of its own. */
  remaining(): number
  lose(why: string): void
}

const SHORTEST_PAUSE = 10
/** In one tick. */
const MOST_LOOKS = 4

/**
 * Laws:
 * - A tick comes at the latest when the first concern's time is over, and at the latest a third of the shortest lease after the last:
 *   a clock that stepped or slept is noticed there. It may come early, for one that has left: it finds nothing and sets the next.
 * - When nobody is concerned any more, no timer is left.
 */
export class BoundRenewal {
  readonly #port: LockPort
  readonly #concerns = new IndexedSet<Concern>()
  #third = Number.POSITIVE_INFINITY
  #timer: Timer | undefined
  #armedFor = Number.POSITIVE_INFINITY
  #reading = false
  /** Somebody came since this was last set to false. */
  #joined = false

  constructor(port: LockPort) {
    this.#port = port
    port.bound.onDropped(() => {
      this.#concerns.forEach((concern) => concern.lose('the store met another cluster'))
    })
  }

  /** Until `remove`; `left` is what it has left now. */
  add(concern: Concern, left: number): void {
    this.#concerns.add(concern)
    this.#joined = true
    const third = concern.lease / 3
    if (third < this.#third) {
      this.#third = third
      this.#arm(Math.min(left, this.#untilRead()))
    } else if (left < this.#third) this.#arm(left)
  }

  remove(concern: Concern): void {
    if (!this.#concerns.delete(concern) || this.#concerns.size > 0) return
    this.#third = Number.POSITIVE_INFINITY
    this.#disarm()
  }

  #untilRead(): number {
    const age = this.#port.bound.age(this.#port.clock.instant())
    return Math.max(SHORTEST_PAUSE, age < this.#third ? this.#third - age : this.#third / 4)
  }

  /** One that is due sooner stays. */
  #arm(ms: number): void {
    const at = this.#port.clock.now() + ms
    if (at >= this.#armedFor) return
    this.#timer?.cancel()
    this.#armedFor = at
    this.#timer = this.#port.clock.after(ms, this.#tick, { ref: false })
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#armedFor = Number.POSITIVE_INFINITY
  }

  #tick = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY
    let next = this.#look()
    // Who is told of a loss may ask for another hold at once.
    for (let looks = 1; this.#joined && looks < MOST_LOOKS; looks++) next = this.#look()
    if (this.#joined) next = Math.min(next, SHORTEST_PAUSE)
    if (this.#concerns.size === 0) return
    const { bound, clock } = this.#port
    // A little early is in time; a timer that fires a hair before its third must not wait for another one.
    if (bound.age(clock.instant()) >= this.#third * 0.9) this.#read()
    this.#arm(Math.min(next, this.#untilRead()))
  }

  /** Ends what is over; ms until the first of the others is. */
  #look(): number {
    this.#joined = false
    let next = Number.POSITIVE_INFINITY
    let shortest = Number.POSITIVE_INFINITY
    this.#concerns.forEach((concern) => {
      const left = concern.remaining()
      if (left === 0) return
      next = Math.min(next, left)
      shortest = Math.min(shortest, concern.lease)
    })
    this.#third = shortest / 3
    return next
  }

  /** Any confirmed read tells the cluster time; the engine teaches it to the bound. Its failure is the next tick's business. */
  #read(): void {
    // Of a closed store too each hold goes on to its end, and is told of it.
    if (this.#reading || this.#port.closed.aborted) return
    this.#reading = true
    const done = () => {
      this.#reading = false
    }
    this.#port.read([READ.revision], { timeout: Math.max(50, this.#third) }).then(done, done)
  }
}
