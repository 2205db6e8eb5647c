// Rule: a Map for entries that are added and deleted all the time.

/**
 * The Map is replaced after at least this many deletions. Replacing a small Map more often would cost more
 * than it saves.
 */
const FEW = 16

/**
 * V8's Map replaces its table again and again while entries are added and deleted. The old table keeps its
 * entries, and points to the new table. An old table can get into V8's old generation. From then on, each
 * garbage collection of the young generation keeps all later tables in memory, with the values of deleted
 * entries.
 *
 * Law: when the number of deletions exceeds the number of entries by FEW, the entries are copied to a new
 * Map. No old table points to the new Map.
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

  /**
   * Returns the values in the order of insertion. During the iteration the caller may delete entries that
   * were already returned.
   */
  values(): IterableIterator<Value> {
    return this.#map.values()
  }

  keys(): Key[] {
    return [...this.#map.keys()]
  }
}
