// Rule: cluster time (docs/locks.md, CT1 and CT2). Only a leader has this clock, and only it stamps.
//
// Laws
//   - it starts at the time of the last entry of the leader's log, with a reading taken after that entry was appended here
//   - each reading adds min(elapsed since the last reading, clamp): a stall can only delay what runs out, never hasten it
//   - a reading that is behind the last one adds nothing; so the sum never goes back (CT1)
//   - a stamp is the sum, whole milliseconds, rounded down; the fraction stays in the sum. So between two stamps at most the
//     real time between them and less than one millisecond passes: `bound < deadline` and `time > deadline`, of whole
//     milliseconds, leave room for exactly that.

export class ClusterClock {
  #sum: number
  #reading: number
  readonly #clamp: number

  constructor(lastTime: number, now: number, clamp: number) {
    this.#sum = lastTime
    this.#reading = now
    this.#clamp = clamp
  }

  read(now: number): number {
    const elapsed = now - this.#reading
    if (elapsed > 0) {
      this.#sum += elapsed < this.#clamp ? elapsed : this.#clamp
      this.#reading = now
    }
    return Math.floor(this.#sum)
  }
}
