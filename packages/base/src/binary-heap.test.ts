// Test: a heap returns its items in order, even if items are added and removed meanwhile.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heap } from './binary-heap.js'

const ascending = (a: number, b: number) => a - b

test('items come out in their order, with a number taken out here and there', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 20 }))), (steps) => {
      const heap = new Heap<number>((a, b) => a < b)
      const model: number[] = []
      for (const step of steps) {
        if (step === null) expect(heap.pop()).toBe(model.shift())
        else {
          heap.push(step)
          model.push(step)
          model.sort(ascending)
        }
        expect([heap.top, heap.size]).toEqual([model[0], model.length])
      }
    }),
  )
})

test('a heap that was cleared is empty', () => {
  const heap = new Heap<string>((a, b) => a > b)
  for (const item of ['a', 'c', 'b']) heap.push(item)
  expect(heap.top).toBe('c')
  heap.clear()
  expect([heap.pop(), heap.top, heap.size]).toEqual([undefined, undefined, 0])
})
