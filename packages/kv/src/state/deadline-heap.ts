// Rule: things with a deadline, the earliest first. A deadline that only moved later costs nothing until it comes to the top:
// renewals are the usual case, and most of them never fall due.

export interface Due {
  /** When it runs out, as it is now. */
  readonly due: number
  /** The heap's own: where it stands (-1: not in it), and the deadline it was placed by. */
  place: number
  placed: number
}

/** Law: an item is placed by a deadline not later than its own, so the top is never later than the earliest of all. */
export class DueHeap<T extends Due> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** Puts it in, or takes note of its new deadline. */
  update(item: T): void {
    if (item.place === -1) {
      item.place = this.#items.length
      item.placed = item.due
      this.#items.push(item)
      this.#up(item)
    } else if (item.due < item.placed) {
      item.placed = item.due
      this.#up(item)
    }
  }

  remove(item: T): void {
    const { place } = item
    if (place === -1) return
    const last = this.#items.pop() as T
    item.place = -1
    if (last === item) return
    this.#items[place] = last
    last.place = place
    this.#up(last)
    this.#down(last)
  }

  /** The earliest deadline; undefined: nothing has one. */
  earliest(): number | undefined {
    return this.#settledTop()?.due
  }

  /** Takes out all with a deadline before `now`, in no order of theirs. */
  takeDue(now: number): T[] {
    const due: T[] = []
    for (let top = this.#settledTop(); top !== undefined && top.due < now; top = this.#settledTop()) {
      this.remove(top)
      due.push(top)
    }
    return due
  }

  /** Moves items that were renewed to where they belong until the top is a true one. */
  #settledTop(): T | undefined {
    for (;;) {
      const top = this.#items[0]
      if (top === undefined || top.placed === top.due) return top
      top.placed = top.due
      this.#down(top)
    }
  }

  #up(item: T): void {
    const items = this.#items
    let at = item.place
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = items[parentAt] as T
      if (parent.placed <= item.placed) break
      items[at] = parent
      parent.place = at
      at = parentAt
    }
    items[at] = item
    item.place = at
  }

  #down(item: T): void {
    const items = this.#items
    let at = item.place
    for (;;) {
      let childAt = 2 * at + 1
      if (childAt >= items.length) break
      const right = items[childAt + 1]
      if (right !== undefined && right.placed < (items[childAt] as T).placed) childAt++
      const child = items[childAt] as T
      if (item.placed <= child.placed) break
      items[at] = child
      child.place = at
      at = childAt
    }
    items[at] = item
    item.place = at
  }
}
