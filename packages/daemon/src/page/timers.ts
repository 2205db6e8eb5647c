// Driver: the clock of the browser.

// clock: the browser has no other one; this is the only place of the page that reads it
export const now = (): number => performance.now()

// clock: the time of the day that a person reads beside an event
export const timeOfDay = (ago = 0): string => new Date(Date.now() - ago).toTimeString().slice(0, 8)

/** Calls `run` again and again. The returned function ends that. A page that is not visible does nothing. */
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
 * Runs a read again when something has changed.
 *
 * Law: reads follow one another, and rest a multiple of what the last one took. Without this
 * law: a page that is open beside ten thousand busy locks asks its member for all of them at every change.
 * A read of some milliseconds is mostly work of the member; a longer one mostly waited for something else. So
 * `long`, in ms, bounds a rest of LONG_TIMES times the read, for a view whose reads are dear.
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

  /** Runs the read soon, and only once for all calls until then. */
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
