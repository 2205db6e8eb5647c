// Rule: a law of progress: a client finds the new leader in time. While a leader has a majority and nothing
// is broken between them, a waiting client gets an answer in time. The time is enough to notice a silent
// member and to change to another one. For an embedded store only an answer that needs the leader counts. The
// answer may come through a third member (M28).

import type { HostProcess } from '@latchkey/raft/memory'
import { NoProgress } from '../../laws/verdict.js'

/**
 * In election timeouts. A client needs one and a half to notice a silent member, and the rest for another
 * silent member.
 */
const TIMEOUTS = 3
/**
 * In ms, for messages, disks and effects of an earlier fault. A client that dials a machine without power
 * waits this long for an answer (DIAL_TIMEOUT), even if the machine is back sooner.
 */
const WORK = 3_000

export class NewLeaderInTime {
  /** In µs, how long a client may wait. */
  readonly limit: number
  /** The start of each process's wait, in µs. */
  readonly #waiting = new Map<HostProcess, number>()
  /** The time of the last fault, the last repair, or the last new leader. */
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
   * From now on the law does not count. A part of the world is slow for good, or the clients begin no new
   * calls.
   */
  end(): void {
    this.#off = true
  }

  /** `works` says whether there is a leader with a majority that this client can reach. */
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
