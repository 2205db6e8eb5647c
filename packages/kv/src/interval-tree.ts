// Rule: an interval tree, which finds the ranges that contain a key. The time grows with the logarithm of the
// number of ranges, and with the number of found ranges.
//
// The ranges are in an array, sorted by their starts. The range in the middle is the root of the tree, the
// middle ranges of the two halves are its children, and so on.
//
// Laws: `find` reports exactly the ranges with start <= key < end, each once. No two entries have the same
// range.

/**
 * Stands for the end of a range that has no end. In a key, each character stands for one byte and is at most
 * 0xff, so this text is greater than every key.
 */
export const NO_END = '\u0100'

/** A range of keys, as texts with one character for each byte. `start` is in the range, and `end` is not. */
export interface Span {
  readonly start: string
  readonly end: string
}

export class IntervalTree<Entry extends Span> {
  readonly #entries: Entry[] = []
  /** For each node, the largest end in its subtree. */
  #ends: string[] = []
  #stale = false

  get(start: string, end: string): Entry | undefined {
    const entry = this.#entries[this.#placeOf(start, end)]
    return entry?.start === start && entry.end === end ? entry : undefined
  }

  /** The tree must not already have an entry with the same range. */
  add(entry: Entry): void {
    this.#entries.splice(this.#placeOf(entry.start, entry.end), 0, entry)
    this.#stale = true
  }

  remove(entry: Entry): void {
    const place = this.#placeOf(entry.start, entry.end)
    if (this.#entries[place] !== entry) return
    this.#entries.splice(place, 1)
    this.#stale = true
  }

  /** Returns the index of the range, or the index at which the range would be inserted. */
  #placeOf(start: string, end: string): number {
    let [from, to] = [0, this.#entries.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      const entry = this.#entries[middle] as Entry
      if (entry.start < start || (entry.start === start && entry.end < end)) from = middle + 1
      else to = middle
    }
    return from
  }

  find(key: string, found: (entry: Entry) => void): void {
    if (this.#stale) this.#measure()
    this.#search(0, this.#entries.length, key, found)
  }

  #measure(): void {
    this.#stale = false
    this.#ends = new Array<string>(this.#entries.length).fill('')
    this.#lastEnd(0, this.#entries.length)
  }

  #lastEnd(from: number, to: number): string {
    if (from >= to) return ''
    const middle = (from + to) >>> 1
    let last = (this.#entries[middle] as Entry).end
    for (const end of [this.#lastEnd(from, middle), this.#lastEnd(middle + 1, to)]) if (end > last) last = end
    this.#ends[middle] = last
    return last
  }

  #search(first: number, to: number, key: string, found: (entry: Entry) => void): void {
    for (let from = first; from < to; ) {
      const middle = (from + to) >>> 1
      if ((this.#ends[middle] as string) <= key) return
      this.#search(from, middle, key, found)
      const entry = this.#entries[middle] as Entry
      if (entry.start > key) return
      if (entry.end > key) found(entry)
      from = middle + 1
    }
  }
}
