// Test: an id is a text of 128 random bits, and no id comes twice, even after the supply of random bytes was
// refilled.

import { expect, test } from 'vitest'
import { newId } from './random-ids.js'

test('no id comes twice', () => {
  const ids = new Set(Array.from({ length: 1_000 }, newId))
  expect(ids.size).toBe(1_000)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
})
