// Rule: the upper bound of cluster time (laws CT5 to CT7 of docs/locks.md). A store has one for
// all its locks.

import { type Instant, elapsed } from '@latchkey/base'

export const DEFAULT_DRIFT = 0.005

/**
 * Laws:
 * - An answer proves cluster time L. Its request was first sent at the local instant s. At instant t cluster
 *   time is then at most L + elapsed(s, t) * (1 + drift) / (1 - drift). Counting from the arrival of the
 *   answer would be wrong, because the answer may have travelled for a whole lease.
 * - Of several bounds the lowest is used. Each of them is true, so the lowest is the most exact.
 * - Before the first proof, and after another cluster was met, the bound is infinite, and no hold can
 *   be promised.
 */
export class ClusterBound {
  /** How many cluster milliseconds may pass in one local millisecond. */
  readonly rate: number
  #clusterId: string | undefined
  #best: { readonly time: number; readonly sentAt: Instant } | undefined
  #lastSentAt: Instant | undefined
  #dropped = new Set<() => void>()

  constructor(drift: number = DEFAULT_DRIFT) {
    this.rate = (1 + drift) / (1 - drift)
  }

  /**
   * Called at each handshake, before anything is learned from that link. If the cluster is not the same as
   * before, the bound and all holds are dropped.
   */
  meet(clusterId: string): void {
    if (this.#clusterId === clusterId) return
    const changed = this.#clusterId !== undefined
    this.#clusterId = clusterId
    if (changed) this.#drop()
  }

  /**
   * `time` is the cluster time L of an answer, or 0 if the answer proves nothing. `sentAt` is when its FIRST
   * attempt was sent.
   */
  learn(time: number, sentAt: Instant, now: Instant): void {
    if (time <= 0) return
    this.#lastSentAt = sentAt
    if (time + elapsed(sentAt, now) * this.rate < this.upper(now)) this.#best = { time, sentAt }
  }

  /**
   * Forgets what was learned, but keeps the holds. This is for the clock of a single server, which may be set
   * forward. Cluster time never jumps.
   */
  beginAgain(): void {
    this.#best = undefined
  }

  /** Cluster time is at most this value. Infinity means that no bound is known. */
  upper(now: Instant): number {
    const best = this.#best
    return best === undefined ? Number.POSITIVE_INFINITY : best.time + elapsed(best.sentAt, now) * this.rate
  }

  /**
   * For how many whole local milliseconds a hold with that deadline can still be promised (CT6). 0 means
   * that it cannot.
   */
  remaining(deadline: number, now: Instant): number {
    return Math.max(0, Math.floor((deadline - this.upper(now)) / this.rate))
  }

  /** How many milliseconds ago the request of the last proof was sent. Infinity if there was no proof. */
  age(now: Instant): number {
    return this.#lastSentAt === undefined ? Number.POSITIVE_INFINITY : elapsed(this.#lastSentAt, now)
  }

  /**
   * Calls `run` when another cluster is met, because every hold is lost then. The returned
   * function cancels that.
   */
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
