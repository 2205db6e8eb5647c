// Test: the numbers of the calls of a session: which are open, how far they may be apart, and that the end of a
// number is never taken for the end of another one.

import { expect, test } from 'vitest'
import { CallNumbers } from './call-numbers.js'

const open = (numbers: CallNumbers<string>) => [...numbers.open()]

test('the first open number bounds the finished numbers, whatever is finished behind it', () => {
  const numbers = new CallNumbers<string>()
  const calls = ['a', 'b', 'c'] as const
  const [a, b, c] = calls.map((one) => numbers.take(one)) as [number, number, number]
  expect([b - a, c - b, numbers.done, numbers.span]).toEqual([1, 1, a, 3])
  numbers.finish(b)
  expect([numbers.done, open(numbers)]).toEqual([a, [calls[0], calls[2]]])
  numbers.finish(a)
  expect([numbers.done, numbers.span, open(numbers)]).toEqual([c, 1, [calls[2]]])
  numbers.finish(c)
  expect([numbers.done, numbers.span, open(numbers)]).toEqual([c + 1, 0, []])
})

// Without this law: a late answer to a call of a minute ago frees the number of a call that still runs, and that
// call is never sent again.
test('C5: a number that is finished again, or was never taken, finishes no other call', () => {
  const numbers = new CallNumbers<string>()
  const first = numbers.take('first')
  let last = first
  while (numbers.room) last = numbers.take('filler')
  numbers.finish(first)
  const taken = numbers.take('newest')
  expect([taken, numbers.room]).toEqual([last + 1, false])
  const before = open(numbers)
  // These two numbers use the place of `taken`.
  numbers.finish(first)
  numbers.finish(taken + (taken - first))
  expect([open(numbers), numbers.done, numbers.room]).toEqual([before, first + 1, false])
  expect(before.at(-1)).toBe('newest')
})
