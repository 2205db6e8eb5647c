// Driver: the port for clocks and timers. No other file reads a clock or sets a timer.
//
// Law: fake timers of a test runner, which replace the global functions, have no effect here. Without
// this law: a test installs fake timers and acquires a lock. The turn of the event loop that sends the
// answer never comes, and the test hangs. Or the test sets the date, and every lock is lost, because a
// holder uses the clock that ran fastest. So this file takes clocks and timers from Node's modules, once,
// when it is loaded.

import { performance } from 'node:perf_hooks'
import timers from 'node:timers'

const { setTimeout, clearTimeout, setImmediate } = timers
const { Date } = globalThis
const resolved = Promise.resolve()

/** Calls `run` in the next turn of the event loop. */
export const nextTurn = (run: () => void): void => void setImmediate(run)

/** Calls `run` in a microtask. If it throws, the error is an unhandled rejection. */
export const microtask = (run: () => void): void => void resolved.then(run)

/**
 * One moment, read from three local clocks. A leader uses the clock that ran slowest, and a holder uses the
 * clock that ran fastest (CT7 in docs/locks.md).
 */
export interface Instant {
  /** process.hrtime, in ms. This clock stops while the machine is suspended. */
  readonly hr: number
  /** os.uptime, in ms. This clock is coarse, and continues while the machine is suspended. */
  readonly up: number
  /** Date.now, in ms. This clock can jump forwards and backwards. */
  readonly wall: number
}

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Monotonic milliseconds, with a fraction. */
  now(): number
  instant(): Instant
  /**
   * Calls `run` once after `ms`. With `ref: false` the timer does not keep the process alive. Any finite
   * delay is allowed: a delay longer than setTimeout's limit is split into several.
   */
  after(ms: number, run: () => void, options?: { ref?: boolean }): Timer
}

const MAX_TIMEOUT = 2 ** 31 - 1
/** In ms, the resolution of os.uptime, which counts in hundredths of a second. */
const UPTIME_RESOLUTION = 10
/**
 * In ms. The last uptime is used again until another clock has moved by this much, because reading the uptime
 * takes longer than reading the other two clocks together.
 */
const UPTIME_REUSE = UPTIME_RESOLUTION / 2

/** In ms, the largest error of a difference between two readings of the uptime. */
const UPTIME_ERROR = UPTIME_RESOLUTION + UPTIME_REUSE
/**
 * In ms, the largest error of a difference between two readings of the wall clock, which counts whole
 * milliseconds.
 */
const WALL_ERROR = 2
/**
 * The wall clock may run slower than the monotonic clock by this fraction of the time, although nobody has
 * set it.
 */
const WALL_DRIFT = 0.01

/**
 * Returns the most time that can have passed (CT7). The monotonic clock stands still while the machine is
 * suspended, and the wall clock may be set. So the uptime, plus the error of the uptime, is used in two
 * cases: if the uptime shows a suspension, or if the wall clock was set back and shows no suspension. Without
 * the error: a machine was suspended, its wall clock was set back, and its holder believed in its lease for 4
 * ms longer than the next holder had the lock (seed 310000051). No clock shows a suspension of less than 30
 * ms during which the wall clock was set back by less than that plus a hundredth of the time.
 */
export function elapsed(from: Instant, to: Instant): number {
  const hr = to.hr - from.hr
  const up = to.up - from.up
  const wall = to.wall - from.wall
  const isUnsure = up - UPTIME_ERROR > hr || wall + WALL_ERROR < hr * (1 - WALL_DRIFT)
  return Math.max(0, hr, wall, isUnsure ? up + UPTIME_ERROR : 0)
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

/**
 * The wall clock continues while the machine is suspended. After a suspension the wall clock has moved, so
 * the uptime is read again. A reused uptime is therefore never older than its own resolution.
 */
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
