// Rule: computes when a hold is renewed, and how soon it is renewed again if no member answers.
//
// Laws, for a lease L and a round trip R:
// - A renewal that is sent at the time s proves the hold until about s + L, but its answer arrives at s + R.
//   So renewals at intervals of L / 16 keep a hold if R is below 15 / 16 of L, less the drift of the clocks.
//   A renewal may be sent while earlier renewals have no answer yet.
// - If R is known, the next renewal is sent so early that there is time for its answer and for one more
//   attempt.
// - A hold that can survive a change of leader is renewed so early that it survives the change. Its remaining
//   time is never less than the time of the change or three quarters of its lease, whichever is shorter.

/**
 * How many renewal requests of one hold may be unanswered at the same time. While no member answers, the
 * interval between requests is the lease divided by this number.
 */
export const MOST_TRIES = 16
/** In ms: the limits of the pause between two unanswered requests. */
const SHORTEST_PAUSE = 5
const LONGEST_PAUSE = 5_000
/**
 * In election timeouts: how long a change of leader may take, until this process has sent a request to the
 * new leader. An election takes one to two election timeouts.
 */
const CHANGE = 2.25

export function pauseOf(lease: number): number {
  return Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, Math.ceil(lease / MOST_TRIES)))
}

/**
 * Returns how many milliseconds to wait for the answer to an attempt: two leases, but at most MOST_TRIES
 * times the longest pause. A later answer is useless, because the hold has ended, or a later attempt has
 * prolonged the hold.
 */
export function patienceOf(lease: number): number {
  return Math.min(lease * 2, LONGEST_PAUSE * MOST_TRIES)
}

/**
 * Returns the milliseconds from the last successful renewal to the next attempt. If the value is negative,
 * the attempt is made immediately. `electionTimeout` is in ms, and is 0 if it is unknown.
 */
export function renewAfter(lease: number, roundTrip: number, electionTimeout: number): number {
  const change = lease < electionTimeout * 2 ? 0 : Math.min(electionTimeout * CHANGE, (lease * 3) / 4)
  return lease - Math.max(lease / 3, change, roundTrip * 1.25 + pauseOf(lease) * 2)
}

/** The estimate rises immediately and falls slowly. */
export class RoundTrip {
  #ms = 0

  get expected(): number {
    return this.#ms
  }

  took(ms: number): void {
    this.#ms = Math.max(ms, (this.#ms * 3 + ms) / 4)
  }
}
