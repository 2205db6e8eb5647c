// Rule: when a hold is renewed, and how soon again while nobody has answered.
//
// Laws, for a lease L and a round trip R:
// - a try that is sent at s and answered in time proves the hold until about s + L, and nobody knows it before s + R. So tries that are
//   L / 16 apart keep a hold as long as R is below 15 / 16 of L, less what clocks may drift, however many are unanswered at once;
// - where R is known the next try leaves early enough for its answer and one more try;
// - a hold that can outlive a change of leader is renewed so early that it does: what is left of it is never less than the change
//   takes, or three quarters of its lease.

/** Requests under way for one hold; and while nobody answers they are so many parts of the lease apart. */
export const MOST_TRIES = 16
const SHORTEST_PAUSE = 5
const LONGEST_PAUSE = 5_000
/** Of election timeouts: until the members have a new leader and this process has asked it. Elections take one to two. */
const CHANGE = 2.25

/** ms between two tries while nobody answers. */
export function pauseOf(lease: number): number {
  return Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, Math.ceil(lease / MOST_TRIES)))
}

/** ms that the answer of a try is waited for. What was prolonged by tries before it alone is over then: they were stamped within a lease. */
export function patienceOf(lease: number): number {
  return Math.min(lease * 2, LONGEST_PAUSE * MOST_TRIES)
}

/** ms from the last success to the next try. `electionTimeout` 0: not known. May be negative: at once. */
export function renewAfter(lease: number, roundTrip: number, electionTimeout: number): number {
  const change = lease < electionTimeout * 2 ? 0 : Math.min(electionTimeout * CHANGE, (lease * 3) / 4)
  return lease - Math.max(lease / 3, change, roundTrip * 1.25 + pauseOf(lease) * 2)
}

/** How long an answer is likely to take: grows at once, shrinks slowly. */
export class RoundTrip {
  #ms = 0

  get expected(): number {
    return this.#ms
  }

  took(ms: number): void {
    this.#ms = Math.max(ms, (this.#ms * 3 + ms) / 4)
  }
}
