// Rule: one member's clocks, as functions of real (virtual) time. Real time is integer microseconds, readings
// are milliseconds.

import type { Instant } from '@latchkey/base'

export class VirtualClock {
  /** Local seconds a real second; 1 is a perfect clock. */
  #rate: number
  #realOrigin = 0
  #localOrigin: number
  /** Goes on while the machine is suspended. */
  #bootOrigin: number
  #wallAhead: number
  #frozen = false
  /** Every step forward of the monotonic clock, so that the law about cluster time knows what it may cost. */
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

  /** The monotonic reading (process.hrtime): what a member's core is given. */
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
   * A step of the monotonic clock. It is promised not to happen, so it may cost something, but never safety
   * by more than the clamp.
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

  /** While the machine is suspended its monotonic clock stands still; its uptime and its wall clock go on. */
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
