// Types: where simulated hosts and networks take their time from, and where they put what happens later.

export interface Timeline {
  /** Microseconds. Never goes back. */
  readonly now: number
  /**
   * Runs it that many microseconds from now, in an event of its own, behind whatever is due at the same time
   * already.
   */
  later(micros: number, run: () => void): void
  /** The same at a given time; now, where that time is over. */
  at(micros: number, run: () => void): void
  /** A clock was read. */
  looked?(): void
}
