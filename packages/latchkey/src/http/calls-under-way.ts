// Driver: counts the HTTP calls of one hold that this member is serving at the same time. The first call that
// gives up must not leave the queue while another call still waits for the same hold.

export class CallsUnderWay {
  readonly #counts = new Map<string, number>()

  /** `run` gets a function that tells whether another call with the same name is in progress too. */
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
