// Rule: how long to wait before the next attempt to connect.
// Law: the first attempt after a connection that had lived is made at once, since it tells whether the peer's process is dead;
// after that the pauses double up to a limit, each shortened by chance so that members do not knock together.

import type { Random } from '@latchkey/base'

export interface BackoffLimits {
  readonly least: number
  readonly most: number
}

export class Backoff {
  readonly #limits: BackoffLimits
  readonly #random: Random
  #attempts = 0

  constructor(limits: BackoffLimits, random: Random) {
    this.#limits = limits
    this.#random = random
  }

  /** The connection has lived: the next attempt is a first one. */
  reset(): void {
    this.#attempts = 0
  }

  /** ms. */
  next(): number {
    const attempt = this.#attempts++
    if (attempt === 0) return 0
    const { least, most } = this.#limits
    return Math.min(most, least * 2 ** Math.min(attempt - 1, 30)) * (0.5 + this.#random.float() / 2)
  }
}
