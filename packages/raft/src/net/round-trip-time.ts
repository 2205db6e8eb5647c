// Rule: measures how long a peer takes to answer pings.
//
// Law: the reported time grows while a ping waits for its answer. Without this law: a peer hangs, and the
// metric shows the short time of its last answer.

export class RoundTrip {
  #askedAt: number | undefined
  #last: number | undefined

  asked(now: number): void {
    this.#askedAt ??= now
  }

  answered(now: number): void {
    if (this.#askedAt === undefined) return
    this.#last = now - this.#askedAt
    this.#askedAt = undefined
  }

  /** In ms. Undefined before the first ping. */
  at(now: number): number | undefined {
    if (this.#askedAt === undefined) return this.#last
    return Math.max(this.#last ?? 0, now - this.#askedAt)
  }
}
