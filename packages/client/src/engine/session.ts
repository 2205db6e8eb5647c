// Rule: a session as its client sees it (docs/locks.md, 6).
// Laws:
// - it is certainly alive as long as less than its life has passed, by the fastest of our clocks, since the sending of the
//   youngest request of it that was answered: the answer's entry came later, and cluster time never runs ahead of real time;
// - nothing new is numbered in a session of which that is no longer sure: what is then sent under an ended one would be unknown.

import { type Instant, elapsed } from '@latchkey/base'
import type { Call } from './call.js'
import { CallNumbers } from './call-numbers.js'

export class Session {
  readonly id: number
  readonly life: number
  readonly numbers = new CallNumbers<Call>()
  #touched: Instant

  constructor(id: number, life: number, sentAt: Instant) {
    this.id = id
    this.life = life
    this.#touched = sentAt
  }

  touch(sentAt: Instant): void {
    if (sentAt.hr > this.#touched.hr) this.#touched = sentAt
  }

  /** A third of its life is left for the way there and for the drift of clocks. */
  stale(now: Instant): boolean {
    return elapsed(this.#touched, now) > (this.life * 2) / 3
  }

  /** Milliseconds until it should be kept alive. */
  keepIn(now: Instant): number {
    return this.life / 3 - elapsed(this.#touched, now)
  }
}
