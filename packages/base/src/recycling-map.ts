// Rule: a Map for entries that come and go all the time.

/** After fewer deletions than this a new Map is not worth its cost. */
const FEW = 16

/**
 * V8's Map replaces its table again and again while entries come and go. The old table keeps its entries, and
 * points to the new table for the sake of iterators. Once an old table is in V8's old generation, each
 * collection of the young generation keeps all later tables and their values alive. So entries that were
 * deleted long ago are copied again and again.
 * Law: after as many deletions as there are entries, the Map is a new one, to which no old table points.
 */
export class RecyclingMap<Key, Value> {
  #map = new Map<Key, Value>()
  #deleted = 0

  get size(): number {
    return this.#map.size
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key)
  }

  set(key: Key, value: Value): void {
    this.#map.set(key, value)
  }

  /** Returns false when there was no such entry. */
  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#deleted >= this.#map.size + FEW) {
      this.#map = new Map(this.#map)
      this.#deleted = 0
    }
    return true
  }

  has(key: Key): boolean {
    return this.#map.has(key)
  }

  clear(): void {
    this.#map = new Map()
    this.#deleted = 0
  }

  /**
   * The values in the order of insertion. The caller may delete an entry that the iterator has returned
   * already.
   */
  values(): IterableIterator<Value> {
    return this.#map.values()
  }

  /** A copy of the keys as they are now, in the order of insertion. */
  keys(): Key[] {
    return [...this.#map.keys()]
  }
}
