// Driver: gives the times at which requests are sent. Reading three clocks for each of a hundred thousand
// calls a second would take too long. So one reading serves all calls within a millisecond.

import type { Clock, Instant } from '@latchkey/base'

/**
 * Law: `take` returns a time that is not later than the moment of its call, and at most one millisecond
 * earlier. An earlier send time makes the upper bound of cluster time (CT5) higher, which is the safe
 * direction.
 */
export class SendTimes {
  readonly #clock: Clock
  #last: Instant | undefined
  #lastNow = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  take(): Instant {
    const now = this.#clock.now()
    if (this.#last === undefined || now - this.#lastNow >= 1 || now < this.#lastNow) {
      this.#lastNow = now
      this.#last = this.#clock.instant()
    }
    return this.#last
  }
}
