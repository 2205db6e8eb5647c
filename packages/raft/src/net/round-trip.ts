// Rule: measures how long the other end of a connection takes to answer pings.
//
// Law: while a ping waits for its answer, the reported time grows. Without this law: a member stands still,
// and its metric shows the short time of the last answer until its connection is closed.

export class RoundTrip {
  /** When the oldest ping without an answer was sent. Answers come in the order of the pings. */
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

  /** In ms; undefined: nothing was asked yet. */
  at(now: number): number | undefined {
    if (this.#askedAt === undefined) return this.#last
    return Math.max(this.#last ?? 0, now - this.#askedAt)
  }
}
