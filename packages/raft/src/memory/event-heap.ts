// Rule: what happens next in virtual time. Ordered by (time, number): no two events tie, so a run is the same each time.

export interface ScheduledEvent {
  readonly at: number
  readonly number: number
  readonly run: (payload: never) => void
  readonly payload: unknown
}

export class EventHeap {
  #items: ScheduledEvent[] = []
  #numbers = 0

  get size(): number {
    return this.#items.length
  }

  /** `at`: integer microseconds of virtual time. */
  push<P>(at: number, run: (payload: P) => void, payload: P): void {
    this.#items.push({ at, number: this.#numbers++, run, payload })
    this.#rise(this.#items.length - 1)
  }

  peekTime(): number | undefined {
    return this.#items[0]?.at
  }

  pop(): ScheduledEvent | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (first !== undefined && last !== undefined && last !== first) {
      items[0] = last
      this.#sink()
    }
    return first
  }

  #rise(from: number): void {
    const items = this.#items
    const item = items[from] as ScheduledEvent
    let at = from
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = items[up] as ScheduledEvent
      if (!before(item, parent)) break
      items[at] = parent
      at = up
    }
    items[at] = item
  }

  #sink(): void {
    const items = this.#items
    const item = items[0] as ScheduledEvent
    const size = items.length
    let at = 0
    for (;;) {
      let down = at * 2 + 1
      if (down >= size) break
      if (down + 1 < size && before(items[down + 1] as ScheduledEvent, items[down] as ScheduledEvent)) down++
      const child = items[down] as ScheduledEvent
      if (!before(child, item)) break
      items[at] = child
      at = down
    }
    items[at] = item
  }
}

const before = (a: ScheduledEvent, b: ScheduledEvent): boolean =>
  a.at < b.at || (a.at === b.at && a.number < b.number)
