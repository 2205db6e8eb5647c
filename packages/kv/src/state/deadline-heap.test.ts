// Test: the heap returns the earliest deadline first, like a plain list, while items are added, moved and
// removed.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { type Due, DueHeap } from './deadline-heap.js'

class Item implements Due {
  due: number
  heapIndex = -1
  sortedBy = 0
  constructor(due: number) {
    this.due = due
  }
}

test.each([1, 2, 3, 4])(
  'seed %s: items are added, moved earlier and later, removed, and taken when due',
  (seed) => {
    const random = seededRandom(seed)
    const heap = new DueHeap<Item>()
    const model = new Set<Item>()
    let now = 0
    for (let step = 0; step < 3_000; step++) {
      const known = [...model]
      const kind = random.between(0, 5)
      if (kind < 2 || known.length === 0) {
        const item = new Item(now + random.between(0, 100))
        model.add(item)
        heap.update(item)
      } else if (kind === 2) {
        const item = random.pick(known)
        item.due = Math.max(now, item.due + random.between(-60, 60))
        heap.update(item)
      } else if (kind === 3) {
        const item = random.pick(known)
        model.delete(item)
        heap.remove(item)
        heap.remove(item)
      } else {
        now += random.between(0, 20)
        const due = known.filter((item) => item.due < now)
        expect(new Set(heap.takeDue(now))).toEqual(new Set(due))
        for (const item of due) model.delete(item)
      }
      const earliest = Math.min(...[...model].map((item) => item.due))
      expect(heap.earliest() ?? Number.POSITIVE_INFINITY).toBe(earliest)
      expect(heap.size).toBe(model.size)
    }
  },
)
