// Rule: which of many ranges a key is in, in about logarithmic time plus what is found. The ranges stand sorted by their start; the
// middle of them, the middles of both halves and so on are a tree, and each knows the last end in its part of it.
//
// Laws: `find` names exactly the ranges with start <= key < end, each once; of one range there is one entry.

/** A key behind all keys: characters of keys are bytes. */
export const NO_END = '\u0100'

/** Of keys, a character a byte; start inclusive, end exclusive. */
export interface Span {
  readonly start: string
  readonly end: string
}

export class RangeIndex<Entry extends Span> {
  readonly #entries: Entry[] = []
  /** By place: the last end of all entries in the tree below. */
  #ends: string[] = []
  #stale = false

  get(start: string, end: string): Entry | undefined {
    const entry = this.#entries[this.#placeOf(start, end)]
    return entry?.start === start && entry.end === end ? entry : undefined
  }

  /** Its range is not there yet. */
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

  /** The first place whose entry is not before that range. */
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
