// Driver: a simulated machine and its process, with clocks, timers, pauses and crashes.
//
// Laws
//   - timers and messages for a paused process wait. When the process continues, either all timers or all
//     messages run first. Messages that arrive at that moment are delivered after the waiting messages. So no
//     message overtakes another message of its connection.
//   - a dead process receives nothing, and its unfinished work does not continue.
//   - a timer never fires too early by the machine's monotonic clock. A timer may fire late.
//   - a process can stop between reading its clock and using the value. After the stop the process uses the
//     old value, as a real process does (CT2).

import type { Clock, Random, Timer } from '@latchkey/base'
import type { Timeline } from './simulated-time-types.js'
import { VirtualClock } from './simulated-machine-clocks.js'

interface HostOptions {
  /** How many seconds the machine's clock counts in one second of simulated time. */
  readonly rate: number
  readonly uptime: number
  readonly wallAhead: number
  /** In microseconds, how late a timer fires. */
  readonly lateness: (random: Random) => number
}

export class Host {
  readonly index: number
  readonly name: string
  readonly timeline: Timeline
  readonly random: Random
  readonly clock: VirtualClock
  readonly lateness: (random: Random) => number
  life: HostProcess | undefined
  #stops = 0
  #suspensions = 0
  /**
   * True after a power loss. A machine without power does not answer at all, not even with a refused
   * connection.
   */
  dark = false
  /**
   * In microseconds, how long the process stops between the next reading of its clock and the use of the
   * value.
   */
  stall = 0

  constructor(timeline: Timeline, index: number, name: string, random: Random, options: HostOptions) {
    this.index = index
    this.name = name
    this.timeline = timeline
    this.random = random
    this.lateness = options.lateness
    this.clock = new VirtualClock(options.rate, options.uptime, options.wallAhead)
  }

  get stopped(): boolean {
    return this.#stops > 0
  }

  get suspended(): boolean {
    return this.#suspensions > 0
  }

  start(): HostProcess {
    this.dark = false
    this.life = new HostProcess(this)
    return this.life
  }

  die(): void {
    if (this.life !== undefined) this.life.dead = true
    this.life = undefined
  }

  stop(suspend: boolean): void {
    this.#stops++
    if (suspend && this.#suspensions++ === 0) this.clock.suspend(this.timeline.now)
  }

  resume(suspended: boolean): void {
    if (this.#stops === 0) return
    this.#stops--
    if (suspended && --this.#suspensions === 0) this.clock.resume(this.timeline.now)
    if (this.#stops === 0) this.life?.goOn()
  }
}

interface Waiting {
  readonly run: () => void
  readonly timer: boolean
}

/**
 * A value of the machine's monotonic clock, and the simulated time (in microseconds) when the process read
 * the value.
 */
interface Reading {
  readonly value: number
  readonly at: number
}

export class HostProcess {
  readonly host: Host
  readonly clock: Clock
  dead = false
  #waiting: Waiting[] = []
  /**
   * The timer or message that waits while the process is stopped between reading its clock and using the
   * value.
   */
  #stalled: Waiting | undefined
  #old: Reading | undefined
  #lastOld: Reading | undefined
  #due = 0

  constructor(host: Host) {
    this.host = host
    const { timeline } = host
    this.clock = {
      now: () => {
        timeline.looked?.()
        return this.#read()
      },
      instant: () => {
        timeline.looked?.()
        return host.clock.instant(timeline.now)
      },
      after: (ms, run) => this.#after(ms, run),
    }
  }

  get running(): boolean {
    return !this.dead && !this.host.stopped
  }

  #read(): number {
    const old = this.#old
    this.#old = undefined
    if (old === undefined) return this.host.clock.read(this.host.timeline.now)
    this.#lastOld = old
    return old.value
  }

  /** Returns the simulated time, in microseconds, when the process read this value of its clock. */
  takenAt(reading: number): number {
    return this.#lastOld?.value === reading ? this.#lastOld.at : this.host.timeline.now
  }

  /** Runs the function now. If the process is paused, the function runs when the process continues. */
  deliver(run: () => void, timer = false): void {
    if (this.dead) return
    if (this.#due > 0) this.#again(run, timer)
    else if (this.host.stopped) this.#waiting.push({ run, timer })
    else if (this.host.stall > 0) this.#stallBefore(run, timer)
    else run()
  }

  #stallBefore(run: () => void, timer: boolean): void {
    const { host } = this
    const { timeline, stall } = host
    const old = { value: host.clock.read(timeline.now), at: timeline.now }
    host.stall = 0
    this.#stalled = {
      run: () => {
        this.#old = old
        run()
        this.#old = undefined
      },
      timer,
    }
    host.stop(false)
    timeline.later(stall, () => host.resume(false))
  }

  readonly defer = (run: () => void): void => {
    this.host.timeline.later(0, () => this.deliver(run))
  }

  later(micros: number, run: () => void): void {
    this.host.timeline.later(micros, () => this.deliver(run))
  }

  goOn(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const stalled = this.#stalled
    this.#stalled = undefined
    if (stalled !== undefined) this.#again(stalled.run, stalled.timer)
    const timersFirst = this.host.random.chance(0.5)
    for (const { run, timer } of waiting) if (timer === timersFirst) this.#again(run, timer)
    for (const { run, timer } of waiting) if (timer !== timersFirst) this.#again(run, timer)
  }

  #again(run: () => void, timer: boolean): void {
    this.#due++
    this.host.timeline.later(0, () => {
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
      if (this.host.clock.read(this.host.timeline.now) < due) return arm()
      run()
    }
    const arm = () =>
      this.host.timeline.later(this.#untilLocal(due), () => !cancelled && this.deliver(fire, true))
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
    const left = Math.max(0, due - host.clock.read(host.timeline.now))
    return Math.ceil((left * 1000) / host.clock.rate) + host.lateness(host.random)
  }
}
