// Driver: owns the timer of the loop's next tick. A tick wakes the process, and an idle member does little else: so it comes when
// something is due, and not every few milliseconds to look.

import type { Clock, Timer } from '@latchkey/base'

export class Ticker {
  readonly #clock: Clock
  readonly #tick: () => void
  #timer: Timer | undefined
  #at = Number.POSITIVE_INFINITY

  constructor(clock: Clock, tick: () => void) {
    this.#clock = clock
    this.#tick = tick
  }

  /** There is a tick in so many ms, or sooner. Whole ones: a timer that rang a hair early would have to be set again. */
  within(ms: number): void {
    const wait = Math.max(1, Math.ceil(ms))
    const at = this.#clock.now() + wait
    if (at >= this.#at) return
    this.#timer?.cancel()
    this.#at = at
    this.#timer = this.#clock.after(wait, this.#ring)
  }

  readonly #ring = (): void => {
    this.#at = Number.POSITIVE_INFINITY
    this.#tick()
  }

  /** For good. */
  stop(): void {
    this.#timer?.cancel()
    this.#at = Number.NEGATIVE_INFINITY
  }
}
