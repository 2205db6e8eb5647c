// Driver: clocks and timers. No other file reads a clock or sets a timer.
//
// Law: a test runner's fake timers have no effect on this file. Without this law: a test installs fake timers
// and acquires a lock. A timer that the client needs for the call never fires, and the test hangs. So this
// file takes the functions from Node's modules when it is loaded.

import { performance } from 'node:perf_hooks'
import timers from 'node:timers'

const { setTimeout, clearTimeout, setImmediate } = timers
const { Date } = globalThis
const resolved = Promise.resolve()

export const nextTurn = (run: () => void): void => void setImmediate(run)

/** Calls `run` in a microtask. An error of `run` becomes an unhandled rejection. */
export const microtask = (run: () => void): void => void resolved.then(run)

/**
 * One moment, read from three local clocks. The clocks differ after the machine was suspended, or after
 * somebody set the date. The holder of a lock reads all three clocks (`elapsed`). A leader reads only the
 * monotonic clock.
 */
export interface Instant {
  /** The monotonic clock in ms. This clock stands still while the machine is suspended. */
  readonly hr: number
  /** os.uptime in ms, in steps of 10 ms. This clock continues while the machine is suspended. */
  readonly up: number
  /** Date.now in ms. This clock can jump forwards and backwards. */
  readonly wall: number
}

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Returns the monotonic time in ms, with a fraction. */
  now(): number
  instant(): Instant
  /**
   * Calls `run` once after `ms`. With `ref: false` the timer does not keep the process alive. `ms` may exceed
   * the limit of setTimeout (about 25 days).
   */
  after(ms: number, run: () => void, options?: { ref?: boolean }): Timer
}

const MAX_TIMEOUT = 2 ** 31 - 1
/** In ms, the resolution of os.uptime. */
const UPTIME_RESOLUTION = 10
/**
 * In ms. Reading os.uptime is slow. So the last uptime is used again until the monotonic clock or the wall
 * clock has moved by this much.
 */
const UPTIME_REUSE = UPTIME_RESOLUTION / 2

/** In ms, the largest error of the difference between two uptimes. */
const UPTIME_ERROR = UPTIME_RESOLUTION + UPTIME_REUSE
/** In ms, the largest error of the difference between two readings of the wall clock. */
const WALL_ERROR = 2
/**
 * A fraction of the elapsed time. The wall clock may fall behind the monotonic clock by this much, even if
 * nobody sets the wall clock.
 */
const WALL_DRIFT = 0.01

/**
 * Returns the longest time in ms that can have passed between two moments (CT7). The monotonic clock misses
 * suspensions, and the wall clock may have been set. The uptime is used if it shows a suspension, or if the
 * wall clock was set back.
 *
 * Why UPTIME_ERROR is added to the uptime: without this addition, a holder trusted its lease for 4 ms after
 * the next holder had got the lock. The first holder's machine was suspended, and its wall clock was set
 * back. (The simulator found this with the seed 310000051.)
 *
 * A known gap: the function misses a suspension of less than 30 ms if the wall clock is set back by about the
 * length of the suspension.
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
 * Returns a function that reads the three clocks. It reads the uptime again only when the monotonic clock or
 * the wall clock has moved by UPTIME_REUSE.
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
