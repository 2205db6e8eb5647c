// Driver: shows the progress of long work on standard error. A terminal shows one line, which is overwritten.
// Other outputs, such as a log file, get a new line from time to time. Short work shows nothing.

import type { Clock, Timer } from '@latchkey/base'

interface ProgressPorts {
  readonly clock: Clock
  readonly errIsTerminal: boolean
  err(text: string): void
}

/** In ms. On a terminal, a new text overwrites the line at this interval. */
const LOOK_MS = 500
/**
 * In ms, for outputs that are no terminal: the time before the first line, and the least time between two
 * lines.
 */
const FIRST_LINE_MS = 3_000
const NEXT_LINE_MS = 5_000

const CLEAR_LINE = '\r\u001b[K'

export class Progress {
  readonly #ports: ProgressPorts
  readonly #started: number
  #next: number
  #shown = false

  constructor(ports: ProgressPorts) {
    this.#ports = ports
    this.#started = ports.clock.now()
    this.#next = this.#started + FIRST_LINE_MS
  }

  get seconds(): number {
    return Math.floor((this.#ports.clock.now() - this.#started) / 1000)
  }

  show(text: string): void {
    const { clock, errIsTerminal } = this.#ports
    if (errIsTerminal) {
      this.#shown = true
      return this.#ports.err(`${CLEAR_LINE}${text}`)
    }
    if (clock.now() < this.#next) return
    this.#next = clock.now() + NEXT_LINE_MS
    this.#ports.err(`latchkey: ${text}\n`)
  }

  async during<T>(text: () => string, work: () => Promise<T>): Promise<T> {
    let timer: Timer | undefined
    const look = () => {
      this.show(text())
      timer = this.#ports.clock.after(LOOK_MS, look, { ref: false })
    }
    look()
    try {
      return await work()
    } finally {
      timer?.cancel()
      this.clear()
    }
  }

  clear(): void {
    if (this.#shown) this.#ports.err(CLEAR_LINE)
    this.#shown = false
  }
}
