// Types: the simulated time, from which simulated machines and networks read the time and on which they
// schedule events.

export interface Timeline {
  /** In microseconds. It never goes back. */
  readonly now: number
  /**
   * Runs the function `micros` microseconds from now, as an event of its own. It runs after all events that
   * are already scheduled for the same time.
   */
  later(micros: number, run: () => void): void
  /** Runs the function at a given time, or now if that time has passed. */
  at(micros: number, run: () => void): void
  /** Called when a clock was read. */
  looked?(): void
}
