// Driver: owns one timer for all locks of a store. The timer ends holds whose time is over. The timer also
// makes the store send reads, because each answer keeps the upper bound of cluster time exact (CT6).

import type { Timer } from '@latchkey/base'
import { READ } from '@latchkey/protocol'
import { IndexedSet, type Indexed } from './indexed-set.js'
import type { LockPort } from './lock-port-interface.js'

/**
 * A hold, or an attempt that waits in the queue. While the store has a hold or such an attempt, the timer
 * keeps the upper bound of cluster time recent.
 */
export interface HoldOrAttempt extends Indexed {
  readonly lease: number
  /**
   * Ends the hold if the clocks show that its time is over. Returns the remaining milliseconds: 0 for a hold
   * that is over, Infinity for an attempt that waits.
   */
  remaining(): number
  lose(why: string): void
}

const SHORTEST_PAUSE = 10
/**
 * How many times one tick, which is one run of the timer, checks all holds at most. A tick repeats the check
 * if holds or attempts were added during the check. Without this limit, a listener that always acquires again
 * could block the event loop.
 */
const MOST_LOOKS = 4

/**
 * Laws:
 * - The timer runs (a tick) at the latest when the earliest hold ends. The timer also runs at the latest a
 *   third of the shortest lease after the previous tick. So a clock that jumped, or a machine that slept, is
 *   noticed in time.
 * - A tick may come too early, for a hold that was removed. An early tick ends no hold and sets the next
 *   timer.
 * - While there is no hold and no waiting attempt, there is no timer.
 */
export class ClusterTimeRefresh {
  readonly #port: LockPort
  readonly #items = new IndexedSet<HoldOrAttempt>()
  #third = Number.POSITIVE_INFINITY
  #timer: Timer | undefined
  #armedFor = Number.POSITIVE_INFINITY
  #reading = false
  #joined = false

  constructor(port: LockPort) {
    this.#port = port
    port.bound.onDropped(() => {
      this.#items.forEach((item) => item.lose('the store is connected to another cluster now'))
    })
  }

  /** The timer checks the item until `remove` is called. `left` is the remaining time of the item in ms. */
  add(item: HoldOrAttempt, left: number): void {
    this.#items.add(item)
    this.#joined = true
    const third = item.lease / 3
    if (third < this.#third) {
      this.#third = third
      this.#arm(Math.min(left, this.#untilRead()))
    } else if (left < this.#third) this.#arm(left)
  }

  remove(item: HoldOrAttempt): void {
    if (!this.#items.delete(item) || this.#items.size > 0) return
    this.#third = Number.POSITIVE_INFINITY
    this.#disarm()
  }

  #untilRead(): number {
    const age = this.#port.bound.age(this.#port.clock.instant())
    return Math.max(SHORTEST_PAUSE, age < this.#third ? this.#third - age : this.#third / 4)
  }

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
    // A listener of a loss may acquire the lock again, which adds a new hold or attempt during `#look`. The
    // same `#look` may not have checked the new hold or attempt, so the tick looks again.
    for (let looks = 1; this.#joined && looks < MOST_LOOKS; looks++) next = this.#look()
    if (this.#joined) next = Math.min(next, SHORTEST_PAUSE)
    if (this.#items.size === 0) return
    const { bound, clock } = this.#port
    // The store reads the cluster time once in each interval, which is a third of the shortest lease. The
    // timer may run a little before the end of the interval, so this tick already reads after nine tenths of
    // the interval. Otherwise this tick would read nothing, and the next tick would come a whole interval
    // later.
    if (bound.age(clock.instant()) >= this.#third * 0.9) this.#read()
    this.#arm(Math.min(next, this.#untilRead()))
  }

  #look(): number {
    this.#joined = false
    let next = Number.POSITIVE_INFINITY
    let shortest = Number.POSITIVE_INFINITY
    this.#items.forEach((item) => {
      const left = item.remaining()
      if (left === 0) return
      next = Math.min(next, left)
      shortest = Math.min(shortest, item.lease)
    })
    this.#third = shortest / 3
    return next
  }

  /**
   * Reads the revision of the store and ignores the result. The read is sent because the answer to each
   * linearizable read carries the cluster time. If the read fails, the next tick reads again.
   */
  #read(): void {
    // A closed store sends no request, but its holds still end by the clocks.
    if (this.#reading || this.#port.closed.aborted) return
    this.#reading = true
    const done = () => {
      this.#reading = false
    }
    this.#port.read([READ.revision], { timeout: Math.max(50, this.#third) }).then(done, done)
  }
}
