// Types: the simulated time, on which simulated machines and networks schedule events.

export interface Timeline {
  /** The present time in microseconds. The time never decreases. */
  readonly now: number
  /**
   * Runs the function `micros` microseconds from now, after all events that are already scheduled for the
   * same time.
   */
  later(micros: number, run: () => void): void
  /** Runs the function at the given time, or now if that time has passed. */
  at(micros: number, run: () => void): void
  looked?(): void
}
