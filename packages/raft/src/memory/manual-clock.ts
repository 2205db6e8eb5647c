// Driver: a clock for tests, whose time passes only in `advance`.

import type { Clock, Instant, Timer } from '@latchkey/base'

interface Alarm {
  readonly due: number
  readonly run: () => void
}

export class ManualClock implements Clock {
  #now = 0
  #alarms: Alarm[] = []

  now(): number {
    return this.#now
  }

  instant(): Instant {
    return { hr: this.#now, up: this.#now, wall: this.#now }
  }

  after(ms: number, run: () => void): Timer {
    const alarm = { due: this.#now + Math.max(0, ms), run }
    this.#alarms.push(alarm)
    return { cancel: () => (this.#alarms = this.#alarms.filter((one) => one !== alarm)) }
  }

  get armed(): number {
    return this.#alarms.length
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const due = this.#alarms.filter((one) => one.due <= end).sort((a, b) => a.due - b.due)[0]
      if (due === undefined) break
      this.#alarms = this.#alarms.filter((one) => one !== due)
      this.#now = due.due
      due.run()
    }
    this.#now = end
  }
}
