// Rule: the clock of the election timers, in ms from the start of this member on. A pause of this process
// counts only in part (T2).
//
// Laws
//   - the time between two readings counts for at most `stall`. If more time has passed, this process was
//     paused, so it could not receive messages from the leader.
//   - for one heartbeat interval after a pause, this member neither campaigns nor steps down. First the
//     messages that wait in the sockets must be read.

import type { RaftOptions } from './options.js'

export class Timers {
  clock = 0
  /** Before this time no election timeout ends. */
  calmAt = 0
  #reading: number
  readonly #stall: number
  readonly #heartbeat: number

  constructor(options: Pick<RaftOptions, 'electionTimeout' | 'heartbeat'>, now: number) {
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
