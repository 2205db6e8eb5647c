// Driver: sends the commit index to followers if no append is sent within 2 ms after a commit. An append
// carries the commit index anyway. Without this message, watches and stale reads on followers would wait for
// the next tick.

import type { Clock, Timer } from '@latchkey/base'

const MOMENT_MS = 2

export class CommitAnnouncer {
  readonly #clock: Clock
  readonly #announce: (index: number) => void
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
