// Driver: when a leader tells by itself what is committed. The next append carries it for nothing; where none comes within a
// moment, followers are told, so that their watchers and stale readers are not a tick behind.

import type { Clock, Timer } from '@latchkey/base'

const MOMENT_MS = 2

export class Announcer {
  readonly #clock: Clock
  readonly #announce: (index: number) => void
  /** What was committed when the timer was set. */
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
