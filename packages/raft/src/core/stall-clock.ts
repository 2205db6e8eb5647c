// Rule: the time that election timers run on: milliseconds since boot, of which a stall counts only in part (T2).
//
// Laws
//   - a gap between two readings counts for at most `stall`; a longer one is a stall of this process, not silence of others
//   - after a stall nobody campaigns or steps down for one heartbeat: what waited in the sockets is heard first

export interface TimerOptions {
  readonly electionTimeout: number
  readonly heartbeat: number
}

export class Timers {
  clock = 0
  /** Before this, deadlines do not fire. */
  calmAt = 0
  #reading: number
  readonly #stall: number
  readonly #heartbeat: number

  constructor(options: TimerOptions, now: number) {
    this.#reading = now
    this.#stall = Math.max(options.electionTimeout / 4, 1)
    this.#heartbeat = options.heartbeat
  }

  advance(now: number): void {
    const gap = now - this.#reading
    if (gap <= 0) return
    this.#reading = now
    if (gap <= this.#stall) {
      this.clock += gap
      return
    }
    this.clock += this.#stall
    this.calmAt = this.clock + this.#heartbeat
  }

  due(deadline: number): boolean {
    return this.clock >= deadline && this.clock >= this.calmAt
  }
}
