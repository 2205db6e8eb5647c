// Rule: the log as the core sees it: a start behind a snapshot, then entries without a gap, all in memory since compaction.
//
//    start            first                       last
//      |                |                           |
//   (9, t2, 70)   [ (10, t2, 70) (11, t4, 75) (12, t4, 80) ]
//
// Laws
//   - indices grow by one from start.index; terms and times never go down along the log, start included (L13, L17, CT1)
//   - `start` stands for everything before it: its term and time are known, its entry is not

import { AssertionError, assert } from '@latchkey/base'
import type { Entry, LogPosition } from './types.js'

/** What an entry costs on the wire beyond its data. */
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

  /** The last position: of the last entry, or the start when there is none. */
  get last(): LogPosition {
    return this.#entries[this.#entries.length - 1] ?? this.#start
  }

  entry(index: number): Entry {
    const entry = this.#entries[index - this.#start.index - 1]
    if (entry === undefined) throw new AssertionError(`the log has no entry ${index}`)
    return entry
  }

  /** Undefined: before the start or beyond the end. */
  termAt(index: number): number | undefined {
    if (index === this.#start.index) return this.#start.term
    return this.#entries[index - this.#start.index - 1]?.term
  }

  matches(index: number, term: number): boolean {
    return this.termAt(index) === term
  }

  /** E5: (term, index) compared in this order. */
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

  /** Everything from `from` on is void. */
  truncate(from: number): void {
    assert(from > this.#start.index, 'a truncation reaches below the start of the log')
    this.#entries.length = Math.min(this.#entries.length, from - this.#start.index - 1)
  }

  /** Both ends inclusive. */
  slice(from: number, to: number): Entry[] {
    return this.#entries.slice(from - this.#start.index - 1, to - this.#start.index)
  }

  /** Entries from `from` on worth at most `maxBytes`, but one at least if there is one. */
  batch(from: number, maxBytes: number): Entry[] {
    let to = from
    let bytes = 0
    for (const last = this.lastIndex; to <= last; to++) {
      bytes += this.entry(to).data.length + ENTRY_OVERHEAD
      if (bytes > maxBytes && to > from) break
    }
    return this.slice(from, to - 1)
  }

  /** Bytes of data after `index`. */
  bytesAfter(index: number): number {
    let bytes = 0
    for (let i = Math.max(index, this.#start.index) + 1; i <= this.lastIndex; i++) {
      bytes += this.entry(i).data.length
    }
    return bytes
  }

  /**
   * The last position at or before `index` whose term is at most `term`; where two logs may agree at the earliest (L8).
   * A term below the start is not known: it is told as 0, which every log agrees with.
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

  /** Forgets the entries up to `index`; what they were is in a snapshot. */
  compact(index: number): void {
    if (index <= this.#start.index) return
    const { term, time } = this.entry(index)
    this.#entries.splice(0, index - this.#start.index)
    this.#start = { index, term, time }
  }

  /** The log begins anew behind an installed snapshot. */
  restart(position: LogPosition): void {
    this.#start = { index: position.index, term: position.term, time: position.time }
    this.#entries = []
  }
}
