// Test: a histogram counts each value once, in the first bucket whose limit is not smaller than the value.

import { expect, test } from 'vitest'
import { Histogram } from './histogram.js'

test('each value is counted in the steps that are not smaller, and in infinity; the sum is that of all', () => {
  const histogram = new Histogram([1, 2])
  expect(histogram.cumulative()).toEqual([0, 0, 0])
  for (const value of [0, 1, 1.5, 2, 3]) histogram.observe(value)
  expect(histogram.cumulative()).toEqual([2, 4, 5])
  expect(histogram.sum).toBe(7.5)
})
