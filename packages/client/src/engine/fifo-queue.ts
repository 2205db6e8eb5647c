// Rule: a first-in-first-out queue. Removing an item does not copy the other items.

export class Queue<Item> {
  #items: (Item | undefined)[] = []
  #head = 0
  #dead = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#items[this.#head++] = undefined
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /**
   * Counts one more item that is not needed any more. Once the count is at least 1024 and at least half of
   * the queue's length, removes all items for which `isDead` is true.
   */
  forget(isDead: (item: Item) => boolean): void {
    if (++this.#dead < 1024 || this.#dead * 2 < this.length) return
    this.#dead = 0
    for (const item of this.takeAll()) if (!isDead(item)) this.push(item)
  }

  takeAll(): Item[] {
    const items = this.#items.slice(this.#head) as Item[]
    this.#items = []
    this.#head = 0
    return items
  }
}
