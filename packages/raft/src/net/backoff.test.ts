// Test: the pauses between attempts to connect: none before the first, then doubled up to the limit, and each
// shortened by at most a half.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { Backoff } from './backoff.js'

const at = (float: number) => ({ ...seededRandom(1), float: () => float })
const pauses = (backoff: Backoff, count: number) => Array.from({ length: count }, () => backoff.next())

test('the first attempt is made at once, and the others wait longer and longer', () => {
  const limits = { least: 100, most: 1_000 }
  const longest = new Backoff(limits, at(1))
  expect(pauses(longest, 7)).toEqual([0, 100, 200, 400, 800, 1_000, 1_000])
  longest.reset()
  expect(pauses(longest, 2)).toEqual([0, 100])
  expect(pauses(new Backoff(limits, at(0)), 4)).toEqual([0, 50, 100, 200])
  expect(pauses(longest, 2_000).at(-1)).toBe(1_000)
})
