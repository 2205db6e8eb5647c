// Driver: the timer for the next tick of the loop. The timer is set to the next deadline instead of a short
// fixed interval, because each tick wakes an idle process.

import type { Clock, Timer } from '@latchkey/base'

export class Ticker {
  readonly #clock: Clock
  readonly #tick: () => void
  readonly #late: (ms: number) => void
  #timer: Timer | undefined
  #at = Number.POSITIVE_INFINITY

  /** `late` is called with the ms by which a tick came too late. */
  constructor(clock: Clock, tick: () => void, late: (ms: number) => void = () => {}) {
    this.#clock = clock
    this.#late = late
    this.#tick = tick
  }

  /**
   * Makes the next tick come in at most `ms` milliseconds. The time is rounded up, because a timer that fired
   * before the deadline would have to be set again.
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

  /** After this call, `within` does not set the timer any more. */
  stop(): void {
    this.#timer?.cancel()
    this.#at = Number.NEGATIVE_INFINITY
  }
}
