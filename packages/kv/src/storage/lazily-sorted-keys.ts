// Rule: a set of keys that is sorted only when a range is read, because puts are frequent and reads of ranges
// are rare.

export class SortedKeys {
  #sorted: string[] = []
  #added: string[] = []

  /** The caller may add the same key again. */
  add(key: string): void {
    this.#added.push(key)
  }

  /** Returns the keys in [start, end), each once. With `end` undefined the range has no upper limit. */
  range(start: string, end: string | undefined): string[] {
    if (this.#added.length > 0) {
      this.#sorted = merged(this.#sorted, this.#added.sort())
      this.#added = []
    }
    const from = lowerBound(this.#sorted, start)
    const to = end === undefined ? this.#sorted.length : lowerBound(this.#sorted, end)
    return this.#sorted.slice(from, to)
  }
}

/** Returns the index of the first key that is equal to `key` or greater. */
export function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] as string) < key) low = middle + 1
    else high = middle
  }
  return low
}

/** The result has each key once. */
function merged(a: readonly string[], b: readonly string[]): string[] {
  const out: string[] = []
  let i = 0
  let k = 0
  while (i < a.length || k < b.length) {
    const takeA = k >= b.length || (i < a.length && (a[i] as string) <= (b[k] as string))
    const key = (takeA ? a[i++] : b[k++]) as string
    if (out[out.length - 1] !== key) out.push(key)
  }
  return out
}
