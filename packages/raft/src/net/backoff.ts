// Rule: how long to wait before the next attempt to connect (backoff). The pauses double up to a limit. A
// random part is taken off each pause, so that the members do not all dial at the same moment. Law: after a
// working connection has closed, the first attempt is made immediately, because it shows whether the peer's
// process has ended.

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

  /** Called when a connection has worked for some time. The next attempt is then made without a pause. */
  reset(): void {
    this.#attempts = 0
  }

  /** In ms. */
  next(): number {
    const attempt = this.#attempts++
    if (attempt === 0) return 0
    const { least, most } = this.#limits
    return Math.min(most, least * 2 ** Math.min(attempt - 1, 30)) * (0.5 + this.#random.float() / 2)
  }
}
