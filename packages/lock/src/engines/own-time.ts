// Driver: owns the time of one client, for an engine whose servers have no clock in common.

import { type Clock, elapsed, type Instant } from '@latchkey/base'

/**
 * In ms: the date is in whole milliseconds, so that it shows up to one more than what has passed. Counted at each
 * reading, that would make a clock that is read often run twice as fast.
 */
const DATE_STEP = 2

/**
 * Law: it never goes back, and between two readings it goes on by what the fastest of the machine's clocks showed.
 * Without the first: the date is set back after a hold was taken, and its holder believes in it for as long again.
 * Without the second: a machine that slept for an hour finds its leases of ten seconds untouched.
 */
export class OwnTime {
  readonly #clock: Clock
  #last: Instant
  /** Above 0: 0 proves nothing. */
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
