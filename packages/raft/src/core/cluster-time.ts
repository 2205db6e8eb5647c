// Rule: cluster time, the time that a leader stamps on each entry (CT1 and CT2 in docs/locks.md). Only a
// leader has this clock.
//
// Laws
//   - the clock starts at the time of the last entry in the leader's log. The first reading is taken after
//     this member has appended that entry
//   - each reading adds min(elapsed since the last reading, clamp). So a pause of the leader can make leases
//     end later, never earlier
//   - a reading that is behind the last one adds nothing, so the sum never goes back (CT1)
//   - a stamp is the sum, rounded down to whole milliseconds, and the fraction stays in the sum. So two
//     stamps differ by less than the real time between them plus one millisecond. Deadlines are whole
//     milliseconds too: a holder is valid while `bound < deadline`, and a lease ends when `time > deadline`.
//     The two conditions are one millisecond apart, which covers the rounding.

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
