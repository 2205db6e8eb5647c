// Driver: the clock of one client, for an engine whose servers have no clock in common.

import { type Clock, elapsed, type Instant } from '@latchkey/base'

/**
 * In ms. The date is in whole milliseconds, so a difference may show up to one more than the time that has
 * passed. If that were added at each reading, a clock that is read often would run twice as fast.
 */
const DATE_STEP = 2

/**
 * Law: this clock never goes back, and between two readings it advances by as much as the fastest clock of
 * the machine has shown. Without the first half: the date is set back after a hold was taken, and its holder
 * believes in it for that much longer. Without the second half: a machine sleeps for an hour, and then finds
 * that its leases of ten seconds are still in force.
 */
export class OwnTime {
  readonly #clock: Clock
  #last: Instant
  /** Greater than 0, because a time of 0 means that an answer proves nothing. */
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
