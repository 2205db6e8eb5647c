// Rule: the log in memory, as the core sees it: a start position after a snapshot, then all entries since
// then, without a gap.
//
//    start            first                       last
//      |                |                           |
//   (9, t2, 70)   [ (10, t2, 70) (11, t4, 75) (12, t4, 80) ]
//
// Laws
//   - indices grow by one from start.index on. Terms and times never go down along the log, and never below
//     those of start (L13, L17, CT1)
//   - `start` is the position of the last entry before the log. Only its index, term and time are known, not
//     its data

import { AssertionError, assert } from '@latchkey/base'
import type { Entry, LogPosition } from './types.js'

/** In bytes, the size of an entry in a message without the data of the entry. */
export const ENTRY_OVERHEAD = 32

export class Log {
  #start: LogPosition
  #entries: Entry[] = []

  constructor(start: LogPosition, entries: readonly Entry[]) {
    this.#start = start
    for (const entry of entries) this.append(entry)
  }

  get start(): LogPosition {
    return this.#start
  }

  get firstIndex(): number {
    return this.#start.index + 1
  }

  get lastIndex(): number {
    return this.#start.index + this.#entries.length
  }

  /** The position of the last entry, or `start` when there is no entry. */
  get last(): LogPosition {
    return this.#entries[this.#entries.length - 1] ?? this.#start
  }

  entry(index: number): Entry {
    const entry = this.#entries[index - this.#start.index - 1]
    if (entry === undefined) throw new AssertionError(`the log has no entry ${index}`)
    return entry
  }

  /** Returns the term of an entry, or undefined for an index before the start or after the end. */
  termAt(index: number): number | undefined {
    if (index === this.#start.index) return this.#start.term
    return this.#entries[index - this.#start.index - 1]?.term
  }

  matches(index: number, term: number): boolean {
    return this.termAt(index) === term
  }

  /** Raft's election restriction: compares the last terms, then the last indices (E5). */
  isUpToDate(lastIndex: number, lastTerm: number): boolean {
    const last = this.last
    return lastTerm > last.term || (lastTerm === last.term && lastIndex >= last.index)
  }

  append(entry: Entry): void {
    const last = this.last
    assert(entry.index === last.index + 1, 'an entry leaves a gap in the log')
    assert(entry.term >= last.term, 'terms go back along the log')
    assert(entry.time >= last.time, 'cluster time goes back along the log (CT1)')
    this.#entries.push(entry)
  }

  /** Removes all entries from index `from` on. */
  truncate(from: number): void {
    assert(from > this.#start.index, 'a truncation reaches below the start of the log')
    this.#entries.length = Math.min(this.#entries.length, from - this.#start.index - 1)
  }

  /** The entries from `from` to `to`, both included. */
  slice(from: number, to: number): Entry[] {
    return this.#entries.slice(from - this.#start.index - 1, to - this.#start.index)
  }

  /**
   * Returns the entries from `from` on, up to `maxBytes` together. At least one entry is returned if the log
   * has one.
   */
  batch(from: number, maxBytes: number): Entry[] {
    let to = from
    let bytes = 0
    for (const last = this.lastIndex; to <= last; to++) {
      bytes += this.entry(to).data.length + ENTRY_OVERHEAD
      if (bytes > maxBytes && to > from) break
    }
    return this.slice(from, to - 1)
  }

  /** The bytes of data in all entries after `index`. */
  bytesAfter(index: number): number {
    let bytes = 0
    for (let i = Math.max(index, this.#start.index) + 1; i <= this.lastIndex; i++) {
      bytes += this.entry(i).data.length
    }
    return bytes
  }

  /**
   * The last position at or before `index` whose term is at most `term`: two logs cannot agree at any later
   * position (L8). If the term at the start of the log is higher than `term`, the two logs may differ before
   * the start too, where terms are not known. The result then has term 0, because all logs agree at position
   * 0.
   */
  lastNotAbove(index: number, term: number): { index: number; term: number } {
    let at = Math.min(index, this.lastIndex)
    for (; at > this.#start.index; at--) {
      const here = this.entry(at).term
      if (here <= term) return { index: at, term: here }
    }
    if (at < this.#start.index) return { index: at, term: 0 }
    return this.#start.term <= term ? { index: at, term: this.#start.term } : { index: at - 1, term: 0 }
  }

  /** Removes the entries up to `index` from memory. A snapshot holds their effects. */
  compact(index: number): void {
    if (index <= this.#start.index) return
    const { term, time } = this.entry(index)
    this.#entries.splice(0, index - this.#start.index)
    this.#start = { index, term, time }
  }

  /** Restarts the log without entries, after a snapshot was installed. */
  restart(position: LogPosition): void {
    this.#start = { index: position.index, term: position.term, time: position.time }
    this.#entries = []
  }
}
