// Driver: a machine and the process on it: its clocks, its timers, its pauses and its deaths.
//
// Laws
//   - What reaches a process that stands still waits, and is delivered when it goes on: the timers first or the messages first.
//     What comes in that very moment comes behind it: nothing overtakes on its connection.
//   - A process that has died hears nothing more, and nothing it began goes on.
//   - A timer never fires before its time on the machine's monotonic clock; it may fire late.

import type { Clock, Random, Timer } from '@latchkey/base'
import { VirtualClock } from '../../world/clock.js'
import type { Ground } from './ground.js'

export interface HostOptions {
  /** Local seconds a true second. */
  readonly rate: number
  readonly uptime: number
  readonly wallAhead: number
}

export class Host {
  readonly index: number
  readonly name: string
  readonly ground: Ground
  readonly random: Random
  readonly clock: VirtualClock
  life: Life | undefined
  #stops = 0
  #suspensions = 0
  /** After a power loss nothing answers here, not even with a refusal. */
  dark = false

  constructor(ground: Ground, index: number, name: string, random: Random, options: HostOptions) {
    this.index = index
    this.name = name
    this.ground = ground
    this.random = random
    this.clock = new VirtualClock(options.rate, options.uptime, options.wallAhead)
  }

  get stopped(): boolean {
    return this.#stops > 0
  }

  get suspended(): boolean {
    return this.#suspensions > 0
  }

  start(): Life {
    this.dark = false
    this.life = new Life(this)
    return this.life
  }

  die(): void {
    if (this.life !== undefined) this.life.dead = true
    this.life = undefined
  }

  stop(suspend: boolean): void {
    this.#stops++
    if (suspend && this.#suspensions++ === 0) this.clock.suspend(this.ground.now)
  }

  resume(suspended: boolean): void {
    if (this.#stops === 0) return
    this.#stops--
    if (suspended && --this.#suspensions === 0) this.clock.resume(this.ground.now)
    if (this.#stops === 0) this.life?.goOn()
  }
}

interface Waiting {
  readonly run: () => void
  readonly timer: boolean
}

export class Life {
  readonly host: Host
  readonly clock: Clock
  dead = false
  #waiting: Waiting[] = []
  /** Waited, and is about to be delivered. */
  #due = 0

  constructor(host: Host) {
    this.host = host
    const { ground } = host
    this.clock = {
      now: () => {
        ground.looked()
        return host.clock.read(ground.now)
      },
      instant: () => {
        ground.looked()
        return host.clock.instant(ground.now)
      },
      after: (ms, run) => this.#after(ms, run),
    }
  }

  get running(): boolean {
    return !this.dead && !this.host.stopped
  }

  /** Something reaches the process: now, or when it goes on. */
  deliver(run: () => void, timer = false): void {
    if (this.dead) return
    if (this.#due > 0) this.#again(run, timer)
    else if (this.host.stopped) this.#waiting.push({ run, timer })
    else run()
  }

  /** Behind what this turn still delivers. */
  readonly defer = (run: () => void): void => {
    this.host.ground.later(0, () => this.deliver(run))
  }

  later(micros: number, run: () => void): void {
    this.host.ground.later(micros, () => this.deliver(run))
  }

  goOn(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const timersFirst = this.host.random.chance(0.5)
    for (const { run, timer } of waiting) if (timer === timersFirst) this.#again(run, timer)
    for (const { run, timer } of waiting) if (timer !== timersFirst) this.#again(run, timer)
  }

  #again(run: () => void, timer: boolean): void {
    this.#due++
    this.host.ground.later(0, () => {
      this.#due--
      if (this.dead) return
      if (this.host.stopped) this.#waiting.push({ run, timer })
      else run()
    })
  }

  #after(ms: number, run: () => void): Timer {
    const due = this.clock.now() + Math.max(0, ms)
    let cancelled = false
    const fire = () => {
      if (cancelled) return
      if (this.clock.now() < due) return arm()
      cancelled = true
      run()
    }
    const arm = () =>
      this.host.ground.later(this.#untilLocal(due), () => !cancelled && this.deliver(fire, true))
    arm()
    return {
      cancel: () => {
        cancelled = true
      },
    }
  }

  #untilLocal(due: number): number {
    const { host } = this
    if (host.suspended) return 10_000
    const left = Math.max(0, due - this.clock.now())
    const late = host.random.chance(0.02) ? host.random.between(0, 20_000) : host.random.between(0, 300)
    return Math.ceil((left * 1000) / host.clock.rate) + late
  }
}
