// Test: an id is 128 bits as text; no id comes twice, also after the pool of random bytes was filled again.

import { expect, test } from 'vitest'
import { newId } from './random-ids.js'

test('no id comes twice', () => {
  const ids = new Set(Array.from({ length: 1_000 }, newId))
  expect(ids.size).toBe(1_000)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
})
