// Driver: counts, for each hold, the HTTP calls that are in progress at this member. Calls for the same lock
// and id share one place in the queue of the lock. A call that stops waiting must not give up this place
// while another call still waits for the same lock and id.

export class CallsUnderWay {
  readonly #counts = new Map<string, number>()

  /**
   * Runs the call. `name` stands for a lock and an id. `isShared` returns true while another call with the
   * same name is in progress.
   */
  async with<T>(name: string, run: (isShared: () => boolean) => Promise<T>): Promise<T> {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    try {
      return await run(() => (this.#counts.get(name) ?? 0) > 1)
    } finally {
      const left = (this.#counts.get(name) ?? 1) - 1
      if (left > 0) this.#counts.set(name, left)
      else this.#counts.delete(name)
    }
  }
}
