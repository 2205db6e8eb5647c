// Driver: owns the line on standard error that says how far long work has come: one line that changes on a terminal, elsewhere a line
// now and then, and none at all for work that is soon done.

import type { Clock, Timer } from '@latchkey/base'

export interface ProgressPorts {
  readonly clock: Clock
  readonly errIsTerminal: boolean
  err(text: string): void
}

/** On a terminal as often as a person looks; in a log as often as it bears. */
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

  /** Shows `text` again and again until the work has ended, however it ended. */
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

  /** What is printed next begins on a line of its own. */
  clear(): void {
    if (this.#shown) this.#ports.err(CLEAR_LINE)
    this.#shown = false
  }
}
