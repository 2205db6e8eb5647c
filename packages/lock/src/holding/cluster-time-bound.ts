// Rule: the upper bound of cluster time (docs/locks.md, CT5 to CT7). One per store serves all its locks.

import { type Instant, elapsed } from '@latchkey/base'

export const DEFAULT_DRIFT = 0.005

/**
 * Laws:
 * - From (L, s), L proven by an answer and s the instant its request was first sent, cluster time at t is at most
 *   L + elapsed(s, t) * (1 + drift) / (1 - drift). Never paired with the instant of the answer: that one lies too late.
 * - The lowest bound wins: each is true, so the lowest tells most.
 * - Nothing learned yet, or another cluster met: infinity, that is, no hold can be promised.
 */
export class ClusterBound {
  /** Cluster milliseconds that may pass in one local millisecond. */
  readonly rate: number
  #clusterId: string | undefined
  #best: { readonly time: number; readonly sentAt: Instant } | undefined
  #lastSentAt: Instant | undefined
  #dropped = new Set<() => void>()

  constructor(drift: number = DEFAULT_DRIFT) {
    this.rate = (1 + drift) / (1 - drift)
  }

  /** At every handshake, before anything is learned from that link. Another cluster than before drops bound and holds. */
  meet(clusterId: string): void {
    if (this.#clusterId === clusterId) return
    const changed = this.#clusterId !== undefined
    this.#clusterId = clusterId
    if (changed) this.#drop()
  }

  /** `time` is L of an answer, 0 if it proves nothing; `sentAt` when its FIRST attempt was sent; `now` is now. */
  learn(time: number, sentAt: Instant, now: Instant): void {
    if (time <= 0) return
    this.#lastSentAt = sentAt
    if (time + elapsed(sentAt, now) * this.rate < this.upper(now)) this.#best = { time, sentAt }
  }

  /** Cluster time is at most this; Infinity: unknown. */
  upper(now: Instant): number {
    const best = this.#best
    return best === undefined ? Number.POSITIVE_INFINITY : best.time + elapsed(best.sentAt, now) * this.rate
  }

  /** Whole local milliseconds for which a hold with that deadline can still be promised (CT6); 0: it cannot. */
  remaining(deadline: number, now: Instant): number {
    return Math.max(0, Math.floor((deadline - this.upper(now)) / this.rate))
  }

  /** Milliseconds since the request of the last proof was sent; Infinity: there was none. */
  age(now: Instant): number {
    return this.#lastSentAt === undefined ? Number.POSITIVE_INFINITY : elapsed(this.#lastSentAt, now)
  }

  /** Called when another cluster was met: every hold is lost. Returns the function that takes it off. */
  onDropped(run: () => void): () => void {
    this.#dropped.add(run)
    return () => this.#dropped.delete(run)
  }

  #drop(): void {
    this.#best = undefined
    this.#lastSentAt = undefined
    for (const run of [...this.#dropped]) run()
  }
}
