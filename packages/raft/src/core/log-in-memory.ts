// Rule: the log in memory: a start position, and all entries after it without a gap. A position has an index,
// a term and a cluster time:
//
//    start            first                       last
//      |                |                           |
//   (9, t2, 70)   [ (10, t2, 70) (11, t4, 75) (12, t4, 80) ]
//
// Laws
//   - each entry's index is one higher than the index of the entry before. Terms and times never decrease
//     along the log (L13, L17, CT1).
//   - `start` is the position of the last entry that was removed or replaced by a snapshot. The log on disk may
//     begin earlier.

import { AssertionError, assert } from '@latchkey/base'
import type { Entry, LogPosition } from './types.js'

/** In bytes, what an entry adds to a message besides its data. */
const ENTRY_OVERHEAD = 32

export class Log {
  #start: LogPosition
  #entries: Entry[] = []
  #bytes = 0

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

  /** The data of all entries, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  get last(): LogPosition {
    return this.#entries[this.#entries.length - 1] ?? this.#start
  }

  entry(index: number): Entry {
    const entry = this.#entries[index - this.#start.index - 1]
    if (entry === undefined) throw new AssertionError(`the log has no entry ${index}`)
    return entry
  }

  /** Undefined if `index` is before the start or after the end. */
  termAt(index: number): number | undefined {
    if (index === this.#start.index) return this.#start.term
    return this.#entries[index - this.#start.index - 1]?.term
  }

  matches(index: number, term: number): boolean {
    return this.termAt(index) === term
  }

  /**
   * Raft's election restriction: true if a log that ends with this index and term is at least as up-to-date
   * as this log (E5).
   */
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
    this.#bytes += entry.data.length
  }

  truncate(from: number): void {
    assert(from > this.#start.index, 'a truncation reaches below the start of the log')
    this.#removed(this.#entries.splice(from - this.#start.index - 1))
  }

  slice(from: number, to: number): Entry[] {
    return this.#entries.slice(from - this.#start.index - 1, to - this.#start.index)
  }

  /** Returns the entries from `from` on, up to `maxBytes` in total. The first entry is always included. */
  batch(from: number, maxBytes: number): Entry[] {
    let to = from
    let bytes = 0
    for (const last = this.lastIndex; to <= last; to++) {
      bytes += this.entry(to).data.length + ENTRY_OVERHEAD
      if (bytes > maxBytes && to > from) break
    }
    return this.slice(from, to - 1)
  }

  bytesAfter(index: number): number {
    let bytes = 0
    for (let i = Math.max(index, this.#start.index) + 1; i <= this.lastIndex; i++) {
      bytes += this.entry(i).data.length
    }
    return bytes
  }

  /**
   * Returns the last position at or before `index` whose term is at most `term`. If another log has the term
   * `term` at `index`, the two logs cannot agree at a later position (L8). A result before the start of this
   * log has the term 0, because its term is unknown.
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

  /** Removes the entries up to `index`. The state machine must have applied them. */
  compact(index: number): void {
    if (index <= this.#start.index) return
    const { term, time } = this.entry(index)
    this.#removed(this.#entries.splice(0, index - this.#start.index))
    this.#start = { index, term, time }
  }

  #removed(entries: readonly Entry[]): void {
    for (const { data } of entries) this.#bytes -= data.length
  }

  restart(position: LogPosition): void {
    this.#start = { index: position.index, term: position.term, time: position.time }
    this.#entries = []
    this.#bytes = 0
  }
}
