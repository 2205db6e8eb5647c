// Rule: a heap of items with deadlines, the earliest first. Most sessions and holds are renewed many times
// and never reach their deadline. So if a deadline moves to a later time, the heap changes nothing until the
// item reaches the top.

export interface Due {
  readonly due: number
  /**
   * Only the heap uses these fields. `heapIndex` is the index of the item in the heap, or -1 if the heap does
   * not have the item. `sortedBy` is the deadline by which the heap sorts the item.
   */
  heapIndex: number
  sortedBy: number
}

/**
 * Law: the heap sorts an item by a deadline that is never later than the item's present deadline. So the
 * deadline at the top is never later than the earliest of all deadlines.
 */
export class DueHeap<T extends Due> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** Adds the item, or moves it if its deadline has become earlier. */
  update(item: T): void {
    if (item.heapIndex === -1) {
      item.heapIndex = this.#items.length
      item.sortedBy = item.due
      this.#items.push(item)
      this.#up(item)
    } else if (item.due < item.sortedBy) {
      item.sortedBy = item.due
      this.#up(item)
    }
  }

  remove(item: T): void {
    const { heapIndex } = item
    if (heapIndex === -1) return
    const last = this.#items.pop() as T
    item.heapIndex = -1
    if (last === item) return
    this.#items[heapIndex] = last
    last.heapIndex = heapIndex
    this.#up(last)
    this.#down(last)
  }

  earliest(): number | undefined {
    return this.#sortedTop()?.due
  }

  /** Removes all items with a deadline before `now`, and returns them in any order. */
  takeDue(now: number): T[] {
    const due: T[] = []
    for (let top = this.#sortedTop(); top !== undefined && top.due < now; top = this.#sortedTop()) {
      this.remove(top)
      due.push(top)
    }
    return due
  }

  /**
   * Returns the item with the earliest present deadline, or undefined if the heap is empty. First moves down
   * the items at the top whose deadline has become later.
   */
  #sortedTop(): T | undefined {
    for (;;) {
      const top = this.#items[0]
      if (top === undefined || top.sortedBy === top.due) return top
      top.sortedBy = top.due
      this.#down(top)
    }
  }

  #up(item: T): void {
    const items = this.#items
    let at = item.heapIndex
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = items[parentAt] as T
      if (parent.sortedBy <= item.sortedBy) break
      items[at] = parent
      parent.heapIndex = at
      at = parentAt
    }
    items[at] = item
    item.heapIndex = at
  }

  #down(item: T): void {
    const items = this.#items
    let at = item.heapIndex
    for (;;) {
      let childAt = 2 * at + 1
      if (childAt >= items.length) break
      const right = items[childAt + 1]
      if (right !== undefined && right.sortedBy < (items[childAt] as T).sortedBy) childAt++
      const child = items[childAt] as T
      if (item.sortedBy <= child.sortedBy) break
      items[at] = child
      child.heapIndex = at
      at = childAt
    }
    items[at] = item
    item.heapIndex = at
  }
}
