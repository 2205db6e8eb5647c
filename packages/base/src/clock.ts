// Driver: the ports through which time enters. Nothing else in the house reads a clock or sets a timer.

/** A local instant is three readings kept apart (LOCKS.md, CT7): the slowest serves a leader, the fastest a holder. */
export interface Instant {
  /** process.hrtime, ms; stands still while a machine is suspended. */
  readonly hr: number
  /** os.uptime, ms; coarse, goes on in suspension. */
  readonly up: number
  /** Date.now, ms; steps. */
  readonly wall: number
}

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Monotonic milliseconds, may be fractional. */
  now(): number
  instant(): Instant
  /** Calls back once. `ref: false`: does not keep the process alive. Any finite delay is allowed; long ones are chained. */
  after(ms: number, run: () => void, options?: { ref?: boolean }): Timer
}

const MAX_TIMEOUT = 2 ** 31 - 1
/** os.uptime counts in hundredths of a second. */
const UPTIME_RESOLUTION = 10

/** The largest of the three differences (CT7): a holder believes the clock that ran fastest. */
export function elapsed(from: Instant, to: Instant): number {
  return Math.max(0, to.hr - from.hr, to.up - from.up - UPTIME_RESOLUTION, to.wall - from.wall)
}

export function systemClock(uptimeSeconds: () => number): Clock {
  const now = () => performance.now()
  const after: Clock['after'] = (ms, run, options) => {
    const due = now() + Math.max(0, ms)
    let handle: NodeJS.Timeout
    const arm = () => {
      const left = due - now()
      handle = setTimeout(left > MAX_TIMEOUT ? arm : run, Math.min(Math.max(0, left), MAX_TIMEOUT))
      if (options?.ref === false) handle.unref()
    }
    arm()
    return { cancel: () => clearTimeout(handle) }
  }
  return {
    now,
    instant: () => ({ hr: now(), up: uptimeSeconds() * 1000, wall: Date.now() }),
    after,
  }
}
