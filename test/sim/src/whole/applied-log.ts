// Rule: the entries that members have applied, and the real time at which a leader set the time of each
// entry. The laws of locks and keys need these times.

import type { Entry } from '@latchkey/raft/core'

type Place = Pick<Entry, 'term' | 'index'>

export class AppliedLog {
  /** The real time in µs at which the leader set the time of the entry, by term and index. */
  readonly #stamps = new Map<string, number>()
  #last = { index: 0, term: 0, time: 0, at: 0 }

  /**
   * Called when a member puts the entry into its log. The first of them is the leader of the entry's term.
   */
  appended({ term, index }: Place, now: number): void {
    const key = `${term}/${index}`
    if (!this.#stamps.has(key)) this.#stamps.set(key, now)
  }

  /** In µs of real time. */
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
   * The last entry. `time` is its cluster time in ms. `at` is the real time in µs at which the leader set
   * `time`.
   */
  get last(): Readonly<Place & { time: number; at: number }> {
    return this.#last
  }
}
