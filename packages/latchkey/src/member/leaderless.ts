// Driver: notices that this member has been without a leader for longer than an election takes. It may be cut off, or removed and
// never told; its clients may find a leader elsewhere (C6), so they are told to look, again and again while it lasts.

import type { Clock, Timer } from '@latchkey/base'

/** Election timeouts without a leader. */
const PATIENCE = 3

export class Leaderless {
  readonly #clock: Clock
  readonly #after: number
  readonly #tell: () => void
  #timer: Timer | undefined

  constructor(clock: Clock, electionTimeout: number, tell: () => void) {
    this.#clock = clock
    this.#after = electionTimeout * PATIENCE
    this.#tell = tell
  }

  /** Whether a leader is known. */
  note(known: boolean): void {
    if (known) this.close()
    else this.#timer ??= this.#wait()
  }

  #wait(): Timer {
    const over = () => {
      this.#timer = this.#wait()
      this.#tell()
    }
    return this.#clock.after(this.#after, over, { ref: false })
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
