// Driver: virtual time for tests of lock objects. Timers fire in order. A stall advances time, and no timer
// fires.

import type { Clock, Instant, Timer } from '@latchkey/base'

interface Due {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

export class World {
  now = 1_000
  #timers = new Set<Due>()
  #order = 0

  after(ms: number, run: () => void): Timer {
    const timer = { at: this.now + Math.max(0, ms), order: ++this.#order, run }
    this.#timers.add(timer)
    return { cancel: () => this.#timers.delete(timer) }
  }

  get timers(): number {
    return this.#timers.size
  }

  /** Runs everything that is due within this time, in the order of the due times. */
  async advance(ms: number): Promise<void> {
    const end = this.now + ms
    await settle()
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.now = Math.max(this.now, next.at)
      this.#timers.delete(next)
      next.run()
      await settle()
    }
    this.now = Math.max(this.now, end)
  }

  /** Simulates a blocked event loop: time passes and nothing runs. */
  stall(ms: number): void {
    this.now += ms
  }

  #next(end: number): Due | undefined {
    let best: Due | undefined
    for (const timer of this.#timers) {
      if (timer.at > end) continue
      if (best === undefined || timer.at < best.at || (timer.at === best.at && timer.order < best.order))
        best = timer
    }
    return best
  }
}

/** The three clocks of one process. A test can change their rates and offsets. */
export class ProcessClock implements Clock {
  readonly #world: World
  /** Added to each reading of that clock. */
  readonly offset = { hr: 0, up: 0, wall: 1_700_000_000_000 }
  timers = 0

  constructor(world: World) {
    this.#world = world
  }

  now(): number {
    return this.#world.now + this.offset.hr
  }

  instant(): Instant {
    const { now } = this.#world
    return { hr: now + this.offset.hr, up: now + this.offset.up, wall: now + this.offset.wall }
  }

  after(ms: number, run: () => void): Timer {
    if (!(ms >= 0) && !(ms < 0)) throw new Error(`a delay that is no number: ${ms}`)
    this.timers++
    let open = true
    const close = () => {
      if (open) this.timers--
      open = false
    }
    const timer = this.#world.after(ms, () => {
      close()
      run()
    })
    return {
      cancel: () => {
        close()
        timer.cancel()
      },
    }
  }
}

export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
