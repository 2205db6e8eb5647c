// Driver: the clock of one client, for an engine whose servers have no clock in common.

import { type Clock, elapsed, type Instant } from '@latchkey/base'

/**
 * In ms, by how much a difference between two dates may be wrong. Dates are in whole milliseconds, so a
 * difference may show up to 1 ms more than has passed. If 1 ms were added at each reading, a clock that is
 * read often would run twice as fast.
 */
const DATE_STEP = 2

/**
 * Law: this clock never goes back, and between two readings it advances by as much as the fastest clock of
 * the machine has shown. If the clock went back: the date is set back after a hold was taken, and the holder
 * believes for that much longer that it has the lock. If the clock followed a slower clock: a machine sleeps
 * for an hour, and then finds that its leases of ten seconds are still in force.
 */
export class OwnTime {
  readonly #clock: Clock
  #last: Instant
  /** The time of this clock, in ms. It starts above 0, because an answer with time 0 proves nothing. */
  #sum = 1

  constructor(clock: Clock) {
    this.#clock = clock
    this.#last = clock.instant()
  }

  /** In whole ms, rounded down. */
  now(): number {
    const instant = this.#clock.instant()
    const steady = instant.hr - this.#last.hr
    const fastest = elapsed(this.#last, instant)
    this.#sum += fastest > steady + DATE_STEP ? fastest : steady
    this.#last = instant
    return Math.floor(this.#sum)
  }
}
