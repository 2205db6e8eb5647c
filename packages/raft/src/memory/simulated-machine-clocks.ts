// Rule: the clocks of one simulated machine, as functions of the simulated time. The parameter `real` is the
// simulated time in microseconds. The clocks show milliseconds.

import type { Instant } from '@latchkey/base'

export class VirtualClock {
  /** How many seconds the clock counts in one second of simulated time. */
  #rate: number
  #realOrigin = 0
  #localOrigin: number
  /** The uptime in ms at #realOrigin. The uptime clock continues while the machine is suspended. */
  #bootOrigin: number
  #wallAhead: number
  #frozen = false
  /**
   * The forward jumps of the monotonic clock. One jump can add at most the clamp (CT2) to cluster time. So
   * for each jump the simulator permits cluster time to be ahead of real time by one clamp.
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

  read(real: number): number {
    return this.#frozen ? this.#localOrigin : this.#localOrigin + this.#since(real)
  }

  instant(real: number): Instant {
    const up = this.#bootOrigin + this.#since(real)
    // os.uptime counts in steps of 10 ms.
    return { hr: this.read(real), up: Math.floor(up / 10) * 10, wall: real / 1000 + this.#wallAhead }
  }

  drift(real: number, rate: number): void {
    this.#anchor(real)
    this.#rate = rate
  }

  /**
   * Makes the monotonic clock jump. A real monotonic clock never jumps. After a jump forward, leases may end
   * too early by at most the clamp of cluster time (CT2).
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

  /** The monotonic clock of a suspended machine stands still, and its uptime and wall clock continue. */
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
