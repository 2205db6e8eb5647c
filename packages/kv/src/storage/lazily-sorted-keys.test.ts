// Test: a range of lazily sorted keys has each key once, in order, whenever keys were added.

import { expect, test } from 'vitest'
import { lowerBound, SortedKeys } from './lazily-sorted-keys.js'

test('ranges are sorted, have their start and not their end, and have each key once', () => {
  const keys = new SortedKeys()
  expect(keys.range('', undefined)).toEqual([])
  for (const key of ['c', 'a', 'e', 'a']) keys.add(key)
  expect(keys.range('', undefined)).toEqual(['a', 'c', 'e'])
  for (const key of ['d', 'c', 'b', 'f', 'b']) keys.add(key)
  expect(keys.range('b', 'e')).toEqual(['b', 'c', 'd'])
  expect(keys.range('bb', 'ee')).toEqual(['c', 'd', 'e'])
  expect(keys.range('', undefined)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  expect([keys.range('g', undefined), keys.range('c', 'c')]).toEqual([[], []])
})

test('the lower bound of a key is the first key that is not less', () => {
  const keys = ['b', 'd', 'f', 'h', 'j']
  expect(['a', 'b', 'c', 'd', 'h', 'i', 'j', 'k'].map((key) => lowerBound(keys, key))).toEqual([
    0, 0, 1, 1, 3, 4, 4, 5,
  ])
})
