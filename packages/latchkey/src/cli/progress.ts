// Driver: owns the line on standard error that shows the progress of long work. On a terminal one line is
// overwritten. Elsewhere a new line is printed now and then, and none for work that ends soon.

import type { Clock, Timer } from '@latchkey/base'

interface ProgressPorts {
  readonly clock: Clock
  readonly errIsTerminal: boolean
  err(text: string): void
}

/** In ms. Often enough for a person at a terminal, and not too often for a log. */
const LOOK_MS = 500
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

  /** Shows `text` repeatedly until the work has ended, with or without success. */
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

  /** Makes the next output begin on a new line. */
  clear(): void {
    if (this.#shown) this.#ports.err(CLEAR_LINE)
    this.#shown = false
  }
}
