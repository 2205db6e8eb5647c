// Driver: the ports through which time enters. Nothing else in the house reads a clock or sets a timer.

/** A local instant is three readings kept apart (docs/locks.md, CT7): the slowest serves a leader, the fastest a holder. */
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
/** A reading of uptime costs more than all else of an instant together; it is taken anew when another clock moved by that much. */
const UPTIME_REUSE = UPTIME_RESOLUTION / 2

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
    instant: instants(now, uptimeSeconds),
    after,
  }
}

/** A suspended machine shows in the wall clock, so that a reused uptime is never older than its own resolution. */
function instants(now: () => number, uptimeSeconds: () => number): () => Instant {
  let last: Instant | undefined
  return () => {
    const hr = now()
    const wall = Date.now()
    const fresh =
      last !== undefined && hr - last.hr < UPTIME_REUSE && Math.abs(wall - last.wall) < UPTIME_REUSE
    if (last !== undefined && fresh) return { hr, up: last.up, wall }
    last = { hr, up: uptimeSeconds() * 1000, wall }
    return last
  }
}
