// Test: ids are 128 bits as text, and none comes twice, also where the pool is filled anew.

import { expect, test } from 'vitest'
import { newId } from './ids.js'

test('each is another one', () => {
  const ids = new Set(Array.from({ length: 1_000 }, newId))
  expect(ids.size).toBe(1_000)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
})
