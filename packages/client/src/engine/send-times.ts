// Driver: instants for what is sent. Three clocks are dear to read for each of a hundred thousand calls a second.

import type { Clock, Instant } from '@latchkey/base'

/**
 * Law: the instant given is not later than the moment of asking, and at most a millisecond earlier. An earlier one only makes the
 * bound of CT5 higher, that is, more careful.
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
