// Test: the computed length of a value is the length of its encoding.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pack } from './msgpack-encoder.js'
import { packedLength } from './msgpack-length.js'

const EDGES = [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]
const NUMBERS = [...EDGES, ...EDGES.map((edge) => -edge), -32, -33, 0.5, Number.NaN, Number.POSITIVE_INFINITY]
const LENGTHS = [0, 1, 15, 16, 31, 32, 63, 64, 65, 255, 256, 65_535, 65_536]

const lengths = (value: unknown) => [packedLength(value), pack(value).length]

test.each(NUMBERS)('the number %d', (number) => {
  const [computed, encoded] = lengths(number)
  expect(computed).toBe(encoded)
})

test.each(LENGTHS)('text, bytes and arrays of the length %d', (length) => {
  for (const value of [
    'a'.repeat(length),
    'é'.repeat(length),
    Buffer.alloc(length),
    Array(length).fill(null),
  ]) {
    const [computed, encoded] = lengths(value)
    expect(computed).toBe(encoded)
  }
})

test('any value of the allowed kinds', () => {
  const { value } = fc.letrec<{ value: unknown }>((of) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, undefined, true, false),
      fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double()),
      fc.oneof(fc.string(), fc.string({ unit: 'binary' })),
      fc.uint8Array(),
      fc.array(of('value')),
    ),
  }))
  fc.assert(
    fc.property(value, (one) => {
      const [computed, encoded] = lengths(one)
      expect(computed).toBe(encoded)
    }),
  )
})
