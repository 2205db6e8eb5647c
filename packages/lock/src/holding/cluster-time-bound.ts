// Rule: computes an upper bound of cluster time, which is the time that the leader writes into log entries
// (laws CT5 to CT7 of docs/locks.md). A store has one bound for all its locks.

import { type Instant, elapsed } from '@latchkey/base'

/** By how much the rate of a clock may be wrong, as a fraction. 0.005 is half a percent. */
export const DEFAULT_DRIFT = 0.005

/**
 * Laws:
 * - An answer proves that the cluster time was L at some moment after s, the local instant at which the
 *   request was first sent. At a later instant t the cluster time is at most L + elapsed(s, t) * (1 + drift)
 *   / (1 - drift). Counting from the arrival of the answer would be wrong, because the answer may have
 *   travelled for a whole lease.
 * - Each answer gives one bound. All these bounds are true, so the lowest bound is used, which is the most
 *   exact.
 * - Before the first answer, and after a handshake with a member of another cluster, the bound is infinite,
 *   and the store can guarantee no hold.
 */
export class ClusterTimeBound {
  /** How many milliseconds of cluster time may pass at most in one local millisecond. */
  readonly rate: number
  #clusterId: string | undefined
  #best: { readonly time: number; readonly sentAt: Instant } | undefined
  #lastSentAt: Instant | undefined
  #dropped = new Set<() => void>()

  constructor(drift: number = DEFAULT_DRIFT) {
    this.rate = (1 + drift) / (1 - drift)
  }

  /**
   * Takes the cluster's id from a handshake with a member, before the bound learns from that member's
   * answers. If the id has changed, the bound is forgotten and all holds are lost.
   */
  setCluster(clusterId: string): void {
    if (this.#clusterId === clusterId) return
    const changed = this.#clusterId !== undefined
    this.#clusterId = clusterId
    if (changed) this.#drop()
  }

  /**
   * `time` is the cluster time L of an answer, or 0 if the answer proves nothing. `sentAt` is the instant at
   * which the FIRST attempt of the request was sent.
   */
  learn(time: number, sentAt: Instant, now: Instant): void {
    if (time <= 0) return
    this.#lastSentAt = sentAt
    if (time + elapsed(sentAt, now) * this.rate < this.upper(now)) this.#best = { time, sentAt }
  }

  /**
   * Forgets the bound, but keeps the holds. A lock engine needs this method, because somebody may set the
   * clock of its server forward. A Latchkey store does not need this method, because cluster time never
   * jumps.
   */
  beginAgain(): void {
    this.#best = undefined
  }

  upper(now: Instant): number {
    const best = this.#best
    return best === undefined ? Number.POSITIVE_INFINITY : best.time + elapsed(best.sentAt, now) * this.rate
  }

  /**
   * For how many whole local milliseconds the store can guarantee that a hold with that deadline is in force
   * (CT6).
   */
  remaining(deadline: number, now: Instant): number {
    return Math.max(0, Math.floor((deadline - this.upper(now)) / this.rate))
  }

  /**
   * Returns the age of the last answer with a cluster time, in ms, counted from the first sending of its
   * request.
   */
  age(now: Instant): number {
    return this.#lastSentAt === undefined ? Number.POSITIVE_INFINITY : elapsed(this.#lastSentAt, now)
  }

  /**
   * Calls `run` after a handshake with a member of another cluster, because every hold is lost then. The
   * returned function cancels `run`.
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
