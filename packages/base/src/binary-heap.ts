// Rule: a binary heap. `pop` returns the first item in the order that the caller gives.

export class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  /**
   * `isBefore` returns true if `a` comes before `b`. If neither comes before the other, `pop` may return them
   * in any order.
   */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  get size(): number {
    return this.#items.length
  }

  get top(): T | undefined {
    return this.#items[0]
  }

  clear(): void {
    this.#items.length = 0
  }

  push(item: T): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = items[up] as T
      if (!this.#isBefore(item, parent)) break
      items[at] = parent
      at = up
    }
    items[at] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length > 0) this.#sink(last as T)
    return first
  }

  #sink(item: T): void {
    const items = this.#items
    let at = 0
    for (let down = 1; down < items.length; down = at * 2 + 1) {
      if (down + 1 < items.length && this.#isBefore(items[down + 1] as T, items[down] as T)) down++
      const child = items[down] as T
      if (!this.#isBefore(child, item)) break
      items[at] = child
      at = down
    }
    items[at] = item
  }
}
