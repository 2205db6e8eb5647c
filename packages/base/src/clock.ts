// Driver: the port for clocks and timers. No other file reads a clock or sets a timer.
//
// Law: fake timers of a test runner, which replace the globals of that name, change nothing here. The story without it: a test
// installs them and acquires a lock; the turn of the event loop in which the answer would leave never comes, and the test hangs. Or the
// test sets the date, and each lock is lost, because a holder believes the clock that ran fastest. So clocks and timers are taken from
// Node's modules, once, when this module is loaded.

import { performance } from 'node:perf_hooks'
import timers from 'node:timers'

const { setTimeout, clearTimeout, setImmediate } = timers
const { Date } = globalThis
const resolved = Promise.resolve()

/** Runs it in the next turn of the event loop. */
export const nextTurn = (run: () => void): void => void setImmediate(run)

/** Runs it behind what runs now. What it throws is an unhandled rejection. */
export const microtask = (run: () => void): void => void resolved.then(run)

/**
 * One instant, read from three local clocks. A leader uses the clock that ran slowest and a holder the one
 * that ran fastest (CT7 in docs/locks.md).
 */
export interface Instant {
  /** process.hrtime, in ms. This clock stops while the machine is suspended. */
  readonly hr: number
  /** os.uptime, in ms. This clock is coarse and goes on while the machine is suspended. */
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
/** In ms: os.uptime counts in hundredths of a second. */
const UPTIME_RESOLUTION = 10
/**
 * In ms. Reading the uptime costs more than the other two clocks together. So the last uptime is used again
 * until another clock has moved by this much.
 */
const UPTIME_REUSE = UPTIME_RESOLUTION / 2

/** The largest of the three differences: a holder must believe the clock that ran fastest (CT7). */
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

/**
 * The wall clock goes on while the machine is suspended, so the uptime is read again afterwards. A reused
 * uptime is therefore never older than its own resolution.
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
