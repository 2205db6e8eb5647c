// Driver: the clock of one client, for an engine whose servers have no clock in common, for example etcd.

import { type Clock, elapsed, type Instant } from '@latchkey/base'

/**
 * In ms. If the wall clock shows more elapsed time than the monotonic clock, but at most this much more, the
 * excess is ignored. Times of the wall clock are whole milliseconds, so the time between two readings may be
 * 1 ms too large. If each excess counted, a clock that is read every millisecond could run at double speed.
 */
const DATE_STEP = 2

/**
 * Law: this clock never goes back, and between two readings it advances by as much as the fastest clock of
 * the machine has shown. If this clock could go back: somebody sets the date back by a minute. Then a holder
 * believes for a minute too long that the lock is still held. If this clock followed the slowest clock: a
 * machine sleeps for an hour, and its monotonic clock stands still. Then the leases of ten seconds still seem
 * to be in force.
 */
export class ClientClock {
  readonly #clock: Clock
  #last: Instant
  /** The time of this clock, in ms. The clock starts above 0, because the time 0 means "no time". */
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
