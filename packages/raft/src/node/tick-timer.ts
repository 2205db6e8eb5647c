// Driver: owns the timer of the loop's next tick. Each tick wakes the process, and an idle member does little
// else. So the timer is set to the next deadline, and not to a short fixed interval.

import type { Clock, Timer } from '@latchkey/base'

export class Ticker {
  readonly #clock: Clock
  readonly #tick: () => void
  readonly #late: (ms: number) => void
  #timer: Timer | undefined
  #at = Number.POSITIVE_INFINITY

  /** `late` is called with the number of ms by which a tick came too late. */
  constructor(clock: Clock, tick: () => void, late: (ms: number) => void = () => {}) {
    this.#clock = clock
    this.#late = late
    this.#tick = tick
  }

  /**
   * Makes a tick come within `ms` milliseconds, rounded up. A timer that fired a little too early would have
   * to be set again.
   */
  within(ms: number): void {
    const wait = Math.max(1, Math.ceil(ms))
    const at = this.#clock.now() + wait
    if (at >= this.#at) return
    this.#timer?.cancel()
    this.#at = at
    this.#timer = this.#clock.after(wait, this.#ring)
  }

  readonly #ring = (): void => {
    this.#late(Math.max(0, this.#clock.now() - this.#at))
    this.#at = Number.POSITIVE_INFINITY
    this.#tick()
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#timer?.cancel()
    this.#at = Number.NEGATIVE_INFINITY
  }
}
