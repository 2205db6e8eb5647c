// Rule: when a hold is renewed, and how soon again if no member answers.
//
// Laws, for a lease L and a round trip R:
// - A try that is sent at s and answered in time proves the hold until about s + L, but its answer arrives
//   only at s + R. So tries that are L / 16 apart keep a hold while R is below 15 / 16 of L, less the clocks'
//   drift, however many tries are unanswered.
// - Where R is known, the next try is sent so early that its answer and one more try are still in time.
// - A hold that can survive a change of leader is renewed so early that it does. Its remaining time is never
//   less than the time of the change, or than three quarters of its lease if those are shorter.

/**
 * The most requests under way for one hold. While no member answers, tries are one part in this many of the
 * lease apart.
 */
export const MOST_TRIES = 16
const SHORTEST_PAUSE = 5
const LONGEST_PAUSE = 5_000
/**
 * In election timeouts: the time until the members have a new leader and this process has asked it. An
 * election takes one to two.
 */
const CHANGE = 2.25

/** Milliseconds between two tries while no member answers. */
export function pauseOf(lease: number): number {
  return Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, Math.ceil(lease / MOST_TRIES)))
}

/**
 * How many milliseconds to wait for the answer of a try. After two leases the hold has ended, unless a later
 * try has prolonged it, and then this answer is not needed. MOST_TRIES pauses are enough for long leases.
 */
export function patienceOf(lease: number): number {
  return Math.min(lease * 2, LONGEST_PAUSE * MOST_TRIES)
}

/** Milliseconds from the last success to the next try; negative: at once. `electionTimeout` 0: not known. */
export function renewAfter(lease: number, roundTrip: number, electionTimeout: number): number {
  const change = lease < electionTimeout * 2 ? 0 : Math.min(electionTimeout * CHANGE, (lease * 3) / 4)
  return lease - Math.max(lease / 3, change, roundTrip * 1.25 + pauseOf(lease) * 2)
}

/** How long an answer is likely to take: the estimate rises at once and falls slowly. */
export class RoundTrip {
  #ms = 0

  get expected(): number {
    return this.#ms
  }

  took(ms: number): void {
    this.#ms = Math.max(ms, (this.#ms * 3 + ms) / 4)
  }
}
