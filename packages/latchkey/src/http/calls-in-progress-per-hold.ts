// Driver: counts, for each hold, the HTTP calls that are in progress at this member. Calls for the same lock
// and id share one place in the lock's queue. A call that stops waiting leaves the queue only if no other
// call shares its place.

export class CallsInProgress {
  readonly #counts = new Map<string, number>()

  /**
   * `name` stands for a lock and an id. `isShared` tells whether another call with this name is in progress.
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
