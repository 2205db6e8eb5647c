// Rule: the clocks of one simulated machine, as functions of real simulated time. Real time is in whole
// microseconds, and what a clock shows is in milliseconds.

import type { Instant } from '@latchkey/base'

export class VirtualClock {
  /** How many seconds the clock counts in one real second. The rate of a perfect clock is 1. */
  #rate: number
  #realOrigin = 0
  #localOrigin: number
  /**
   * In microseconds of real time: when the uptime clock showed zero. The uptime clock continues while the
   * machine is suspended.
   */
  #bootOrigin: number
  #wallAhead: number
  #frozen = false
  /**
   * Every forward step of the monotonic clock. The simulator's law about cluster time must allow for these
   * steps.
   */
  readonly steps: { readonly at: number; readonly millis: number }[] = []

  constructor(rate: number, uptime: number, wallAhead: number) {
    this.#rate = rate
    this.#localOrigin = uptime
    this.#bootOrigin = uptime
    this.#wallAhead = wallAhead
  }

  get rate(): number {
    return this.#rate
  }

  /** The monotonic time (process.hrtime), which the member's core gets. */
  read(real: number): number {
    return this.#frozen ? this.#localOrigin : this.#localOrigin + this.#since(real)
  }

  instant(real: number): Instant {
    const up = this.#bootOrigin + this.#since(real)
    // os.uptime counts in hundredths of a second.
    return { hr: this.read(real), up: Math.floor(up / 10) * 10, wall: real / 1000 + this.#wallAhead }
  }

  drift(real: number, rate: number): void {
    this.#anchor(real)
    this.#rate = rate
  }

  /**
   * Moves the monotonic clock forward. Operating systems promise that their monotonic clock never jumps. If
   * it jumps, leases may end early, but never by more than the clamp.
   */
  step(real: number, millis: number): void {
    this.#anchor(real)
    this.#localOrigin += millis
    this.#bootOrigin += millis
    if (millis > 0) this.steps.push({ at: real, millis })
  }

  stepWall(millis: number): void {
    this.#wallAhead += millis
  }

  /**
   * While the machine is suspended its monotonic clock stands still. Its uptime and its wall clock continue.
   */
  suspend(real: number): void {
    this.#anchor(real)
    this.#frozen = true
  }

  resume(real: number): void {
    this.#anchor(real)
    this.#frozen = false
  }

  #since(real: number): number {
    return ((real - this.#realOrigin) / 1000) * this.#rate
  }

  #anchor(real: number): void {
    const passed = this.#since(real)
    this.#localOrigin += this.#frozen ? 0 : passed
    this.#bootOrigin += passed
    this.#realOrigin = real
  }
}
