// Rule: law of liveness: a client finds the new leader in time. While somebody leads, is in office, and
// nothing stands in the way, no client that asks is left without a word for longer than it may take to notice
// a silent member and to go to another one. A store that is embedded in a member is a client too: a word is
// an answer that only a leader gives, and the way may lead through a third member (M28).

import type { HostProcess } from '@latchkey/raft/memory'
import { NoProgress } from '../../laws/verdict.js'

/** Of election timeouts: one and a half to notice, the rest for one more that does not answer. */
const TIMEOUTS = 3
/** ms for the ways, the disks, and what an earlier trouble left to be done. */
const WORK = 2_000

export class NewLeaderInTime {
  /** Microseconds that a client may wait. */
  readonly limit: number
  /** Since when each process has been waiting for a word; microseconds. */
  readonly #waiting = new Map<HostProcess, number>()
  /** When something was last broken or mended, or somebody became leader. */
  #changedAt = 0
  #off = false

  constructor(electionTimeout: number, isJudged: boolean) {
    this.limit = (electionTimeout * TIMEOUTS + WORK) * 1000
    this.#off = !isJudged
  }

  asked(life: HostProcess, now: number): void {
    if (!this.#waiting.has(life)) this.#waiting.set(life, now)
  }

  heard(life: HostProcess): void {
    this.#waiting.delete(life)
  }

  changed(now: number): void {
    this.#changedAt = now
  }

  /**
   * Something was made slow for good, or clients begin nothing new any more: one whose callers gave up then
   * waits for nothing.
   */
  end(): void {
    this.#off = true
  }

  /** `works`: somebody leads, and reaches a majority, and there is a way to it for that client. */
  look(now: number, works: (life: HostProcess) => boolean): void {
    if (this.#off || now - this.#changedAt <= this.limit || this.#waiting.size === 0) return
    for (const [life, since] of this.#waiting) {
      if (life.dead) this.#waiting.delete(life)
      else if (life.running && now - since > this.limit) this.#judge(life, since, now, works)
    }
  }

  #judge(life: HostProcess, since: number, now: number, works: (life: HostProcess) => boolean): void {
    if (!works(life)) return this.changed(now)
    const waited = Math.floor((now - Math.max(since, this.#changedAt)) / 1000)
    throw new NoProgress(
      'new leader',
      `${life.host.name} asks, somebody leads, and for ${waited} ms it heard nothing`,
    )
  }
}
