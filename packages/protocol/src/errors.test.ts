// Test: an error of Latchkey is recognised as such, and by its code.

import { expect, test } from 'vitest'
import { isLatchkeyError, LatchkeyError } from './errors.js'

test('isLatchkeyError: any, or one of the codes that are named', () => {
  const lost = new LatchkeyError('ERR_LOCK_LOST')
  expect(isLatchkeyError(lost)).toBe(true)
  expect(isLatchkeyError(lost, 'ERR_LOCK_LOST')).toBe(true)
  expect(isLatchkeyError(lost, 'ERR_FENCED', 'ERR_LOCK_LOST')).toBe(true)
  expect(isLatchkeyError(lost, 'ERR_FENCED', 'ERR_BUSY')).toBe(false)
  for (const other of [new Error('x'), { code: 'ERR_LOCK_LOST' }, undefined, null, 'ERR_LOCK_LOST'])
    expect(isLatchkeyError(other)).toBe(false)
})
