// Rule: a session as its client knows it (docs/locks.md, 6).
//
// Laws:
// - `life` is how long the session stays open without a request. The session is certainly open if less than
//   `life` has passed since the store sent the last request that was answered. The fastest of the local
//   clocks measures this time. The reason: the log entry of that request came after the request was sent, and
//   cluster time never runs faster than real time.
// - No new call gets a number in a session that may have ended. The outcome of a call that is sent in an
//   ended session is unknown.

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

  /**
   * True if the session may have ended. A third of the session's life is a reserve, for the time that a
   * request needs to arrive and for the drift of clocks.
   */
  stale(now: Instant): boolean {
    return elapsed(this.#touched, now) > (this.life * 2) / 3
  }

  keepIn(now: Instant): number {
    return this.life / 3 - elapsed(this.#touched, now)
  }
}
