// Rule: the entries that members have applied, and the real time at which a leader set the time of each
// entry. Raft's laws check the log, and the laws of locks and keys need these times.

import type { Entry } from '@latchkey/raft/core'

type Place = Pick<Entry, 'term' | 'index'>

export class AppliedLog {
  /** By term and index: the real time, in µs, at which the leader set the time of the entry. */
  readonly #stamps = new Map<string, number>()
  #last = { index: 0, term: 0, time: 0, at: 0 }

  /** A member puts the entry into its log. The first member to do so is the leader of the entry's term. */
  appended({ term, index }: Place, now: number): void {
    const key = `${term}/${index}`
    if (!this.#stamps.has(key)) this.#stamps.set(key, now)
  }

  /** Returns the real time, in µs. */
  stampedAt({ term, index }: Place): number {
    return this.#stamps.get(`${term}/${index}`) ?? 0
  }

  /** Returns true if no member had applied the entry before. */
  applied({ index, term, time }: Entry): boolean {
    if (index <= this.#last.index) return false
    this.#last = { index, term, time, at: this.stampedAt({ term, index }) }
    return true
  }

  /**
   * The last entry, with its cluster time in ms, and the real time in µs at which the leader set this time.
   */
  get last(): Readonly<Place & { time: number; at: number }> {
    return this.#last
  }
}
