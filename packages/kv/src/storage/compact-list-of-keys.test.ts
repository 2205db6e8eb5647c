// Test: the list returns all its keys unchanged and in order.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { RowKeys } from './compact-list-of-keys.js'

test('keys of any length, over many buffers, in their order', () => {
  const random = seededRandom('keys')
  const keys = new RowKeys()
  const model: string[] = []
  for (let i = 0; i < 20_000; i++) {
    const length = random.chance(0.02) ? random.between(1, 5_000) : random.between(1, 60)
    const key = Buffer.alloc(length, random.between(0, 256))
    key.writeUInt8(100)
    keys.add(key)
    model.push(key.toString('latin1'))
    key.fill(0)
  }
  expect([keys.size, keys.bytes < 1.2 * model.join('').length + 1e6]).toEqual([20_000, true])
  expect([...keys].map((key) => Buffer.from(key).toString('latin1'))).toEqual(model)
})

test('an empty list', () => {
  expect([...new RowKeys()]).toEqual([])
})
