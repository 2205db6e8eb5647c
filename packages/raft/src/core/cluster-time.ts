// Rule: cluster time, the time in ms that a leader writes into each entry (CT1 and CT2 in docs/locks.md).
// Leases are measured in cluster time. Only a leader has this clock.
//
// Laws
//   - the clock of a new leader starts at the time of the last entry in its log.
//   - each reading adds the time since the last reading, but at most `clamp` ms. So a pause of the leader can
//     make leases end later, never earlier.
//   - a reading of the local clock that is lower than the last reading adds nothing. So cluster time never
//     decreases (CT1).
//   - an entry gets the time of the clock, rounded down to whole ms. The clock itself keeps the fraction. So
//     the times of two entries differ by less than the real time between them plus 1 ms. A holder trusts its
//     hold until the deadline, and the cluster ends the lease 1 ms later, which covers the rounding.

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
