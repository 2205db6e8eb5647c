// Rule: a map of what comes and goes all the time.

/** Below so many deletions it is not worth making another one. */
const FEW = 16

/**
 * A Map whose entries come and go replaces its table again and again; the old table keeps its entries and points to the next one, for
 * iterators. Once one of them has grown old, V8's collections of the young find all later tables through it, with everything they held:
 * what was deleted long ago is copied over and over. Law: after as many deletions as there are entries the Map is another one, to
 * which no old table points.
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

  /** False: it was not there. */
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

  /** In the order in which they came; who walks through them may delete what was met. */
  values(): IterableIterator<Value> {
    return this.#map.values()
  }

  /** As they are now, in the order in which they came. */
  keys(): Key[] {
    return [...this.#map.keys()]
  }
}
