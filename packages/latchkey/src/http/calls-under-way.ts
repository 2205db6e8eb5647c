// Driver: counts the calls for one hold that are under way at this member, because the first
// that gives up must
// not take the place in the queue from the others.

export class CallsUnderWay {
  readonly #counts = new Map<string, number>()

  /** `run` is given a function that says whether another call under this name is under way too. */
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
