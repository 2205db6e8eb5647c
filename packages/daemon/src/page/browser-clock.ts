// Driver: reads the browser's clock and sets the browser's timers.

// clock: the page measures durations with this function, and no other file of the page reads a clock
export const now = (): number => performance.now()

// clock: the time of day, which the page shows beside an event
export const timeOfDay = (ago = 0): string => new Date(Date.now() - ago).toTimeString().slice(0, 8)

/** Calls `run` every `millis` ms while the page is visible. The returned function stops the calls. */
export function every(millis: number, run: () => void): () => void {
  // clock: the browser's
  const timer = setInterval(() => {
    if (!document.hidden) run()
  }, millis)
  return () => clearInterval(timer)
}

export function after(millis: number, run: () => void): () => void {
  // clock: the browser's
  const timer = setTimeout(run, millis)
  return () => clearTimeout(timer)
}

const LONG_TIMES = 200

/**
 * Repeats a read when its data may have changed.
 *
 * Law: only one read runs at a time. After a read, a pause of `times` times the duration of the read follows,
 * and the pause lasts at least `least` ms. Without this law: a page that shows ten thousand busy locks reads
 * all locks again at every change.
 *
 * A view whose reads are much work for the member also sets `long`, in ms. The pause then also lasts at least
 * LONG_TIMES times the duration of the read, or at least `long` ms if `long` is shorter. A read that takes
 * very long has mostly waited for the network, so `long` limits its pause.
 */
export class Refresher {
  readonly #read: () => Promise<void>
  readonly #least: number
  readonly #times: number
  readonly #long: number
  #cancel: (() => void) | undefined
  #running = false
  #again = false
  #rest = 0
  #stopped = false

  constructor(read: () => Promise<void>, least = 500, times = 40, long = 0) {
    this.#read = read
    this.#least = least
    this.#times = times
    this.#long = long
  }

  /** Starts a read after the pause. Further calls before this read start no second read. */
  soon(): void {
    if (this.#stopped || this.#cancel !== undefined) return
    if (this.#running) this.#again = true
    else this.#cancel = after(this.#rest, () => void this.now())
  }

  async now(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#stopped) return
    if (this.#running) {
      this.#again = true
      return
    }
    this.#running = true
    const began = now()
    try {
      await this.#read()
    } finally {
      this.#running = false
      const took = now() - began
      this.#rest = Math.max(this.#least, took * this.#times, Math.min(took * LONG_TIMES, this.#long))
      if (this.#again) {
        this.#again = false
        this.soon()
      }
    }
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }
}
