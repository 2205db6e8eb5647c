// Driver: virtual time for tests. Planned functions run in the order of their times, and functions of the
// same time in the order of planning.

import type { Clock, Timer } from '@latchkey/base'

interface Plan {
  readonly at: number
  readonly order: number
  run: (() => void) | undefined
}

export class World {
  now = 1_000
  #order = 0
  #plans: Plan[] = []

  after(ms: number, run: () => void): Timer {
    const plan: Plan = { at: this.now + Math.max(0, ms), order: this.#order++, run }
    const place = this.#plans.findLastIndex((other) => other.at <= plan.at) + 1
    this.#plans.splice(place, 0, plan)
    return {
      cancel: () => {
        plan.run = undefined
      },
    }
  }

  get pending(): number {
    return this.#plans.filter((plan) => plan.run).length
  }

  clock(): Clock {
    return {
      now: () => this.now,
      instant: () => ({ hr: this.now, up: this.now, wall: this.now }),
      after: (ms, run) => this.after(ms, run),
    }
  }

  /** Advances the time by `ms`. After each planned function, the callbacks of all resolved promises run. */
  async run(ms: number): Promise<void> {
    const end = this.now + ms
    await quiet()
    for (let next = this.#plans[0]; next && next.at <= end; next = this.#plans[0]) {
      this.#plans.shift()
      this.now = Math.max(this.now, next.at)
      if (!next.run) continue
      next.run()
      await quiet()
    }
    this.now = end
  }

  /** Advances the time until `done` returns true, but at most by `most` ms. */
  async until(done: () => boolean, most = 60_000): Promise<void> {
    for (const end = this.now + most; !done() && this.now < end; ) await this.run(5)
  }
}

const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
