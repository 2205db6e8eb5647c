// Test: the kept replies of a session are found by the numbers of their calls, whatever the numbers are.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RepliesByNumber } from './replies-by-number.js'

const reply = (number: number) => ({ number })
type Reply = ReturnType<typeof reply>
const NUMBERS = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 5_000 }),
  fc.integer({ min: 0, max: 60 }).map((number) => number * 1_024),
  fc.maxSafeInteger().map(Math.abs),
)

test('the same replies as in a Map, after any adds and deletes', () => {
  const step = fc.tuple(fc.boolean(), NUMBERS)
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const replies = new RepliesByNumber<Reply>()
      const expected = new Map<number, Reply>()
      for (const [adds, number] of steps) {
        if (!adds) {
          replies.delete(number)
          expected.delete(number)
        } else if (!expected.has(number)) {
          const added = reply(number)
          replies.add(added)
          expected.set(number, added)
        }
        expect(replies.size).toBe(expected.size)
      }
      for (const [, number] of steps) expect(replies.get(number)).toBe(expected.get(number))
      expect(new Set(replies.all())).toEqual(new Set(expected.values()))
      replies.clear()
      expect([replies.size, replies.all()]).toEqual([0, []])
    }),
  )
})

// Without this: a client names two numbers that are far apart, and the member uses memory for all numbers
// between them.
test('numbers that are far apart need no memory for the numbers between them', () => {
  const replies = new RepliesByNumber<Reply>()
  const far = Array.from({ length: 1_000 }, (_, index) => reply(index * 2 ** 40))
  const before = process.memoryUsage().heapUsed
  for (const one of far) replies.add(one)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(8 * 1024 * 1024)
  expect(far.every((one) => replies.get(one.number) === one)).toBe(true)
})
