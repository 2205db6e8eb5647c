// Test: for a misspelled name, the function finds the known name that was probably meant.

import { expect, test } from 'vitest'
import { didYouMean, nearest } from './nearest-name.js'

test.each([
  ['gaurd', ['guard', 'signal'], 'guard'],
  ['reed', ['read', 'write', 'admin'], 'read'],
  ['WRITE', ['read', 'write'], 'write'],
  ['stauts', ['start', 'status'], 'status'],
  ['lese', ['lease', 'less'], 'lease'],
  ['endpont', ['endpoint'], 'endpoint'],
  ['a', ['b'], 'b'],
  ['xyz', ['read', 'write'], undefined],
  ['', ['read'], undefined],
  ['r'.repeat(1_000_000), ['read'], undefined],
])('%s of %j is %s', (given, known, name) => {
  expect(nearest(given, known)).toBe(name)
})

test('what is said of it', () => {
  expect(didYouMean('reed', ['read'])).toBe(': did you mean "read"?')
  expect(didYouMean('abc', ['read'])).toBe('')
})
