// Driver: sends the commit index to followers if no append carries it. If an append is sent within a moment,
// it carries the index without cost. Otherwise the announcer sends the index, so that watchers and stale
// readers on followers need not wait for the next tick.

import type { Clock, Timer } from '@latchkey/base'

const MOMENT_MS = 2

export class Announcer {
  readonly #clock: Clock
  readonly #announce: (index: number) => void
  /** The commit index at the moment when the timer was set. */
  #index = 0
  #timer: Timer | undefined

  constructor(clock: Clock, announce: (index: number) => void) {
    this.#clock = clock
    this.#announce = announce
  }

  committed(index: number): void {
    if (this.#timer !== undefined) return
    this.#index = index
    this.#timer = this.#clock.after(MOMENT_MS, () => {
      this.#timer = undefined
      this.#announce(this.#index)
    })
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
