// Driver: notices that this process stands still, as it does on a machine that gives it no processor.

const LOOK_MS = 20

export class Standstill {
  #millis = 0
  #last = performance.now()
  readonly #timer = setInterval(() => this.#look(), LOOK_MS)

  /** In ms: for how long this process has stood still since this object was made. */
  get millis(): number {
    this.#look()
    return this.#millis
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const now = performance.now()
    this.#millis += Math.max(0, now - this.#last - 2 * LOOK_MS)
    this.#last = now
  }
}
