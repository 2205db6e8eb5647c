// Test: the reader of frames and commands reads each number form of MessagePack, and refuses numbers that are not
// exact. Clients in other languages may use any of these forms.

import { expect, test } from 'vitest'
import { Malformed, unpack } from './msgpack-decoder.js'

const read = (hex: string) => unpack(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

test.each([
  ['00', 0],
  ['7f', 127],
  ['e0', -32],
  ['ff', -1],
  ['cc 80', 128],
  ['cc ff', 255],
  ['cd 0102', 258],
  ['cd ffff', 65_535],
  ['ce 00010002', 65_538],
  ['ce ffffffff', 2 ** 32 - 1],
  ['cf 00000000 00000005', 5],
  ['cf 00000001 00000005', 2 ** 32 + 5],
  ['cf 001fffff ffffffff', Number.MAX_SAFE_INTEGER],
  ['d0 80', -128],
  ['d0 7f', 127],
  ['d1 8000', -32_768],
  ['d1 ff00', -256],
  ['d2 80000000', -(2 ** 31)],
  ['d2 7fffffff', 2 ** 31 - 1],
  ['d3 00000001 00000005', 2 ** 32 + 5],
  ['d3 ffffffff fffffffb', -5],
  ['d3 fffffffe 00000005', -(2 ** 33) + 5],
  ['d3 ffe00000 00000001', Number.MIN_SAFE_INTEGER],
  ['ca 3fc00000', 1.5],
  ['cb bff80000 00000000', -1.5],
  ['cb 43300000 00000001', 2 ** 52 + 1],
])('%s is a number', (hex, number) => {
  expect(read(hex)).toBe(number)
  // The next value begins after the number.
  expect(read(`92 ${hex} 2a`)).toEqual([number, 42])
})

test.each(['cf 00200000 00000000', 'cf ffffffff ffffffff', 'd3 ffe00000 00000000', 'd3 7fffffff ffffffff'])(
  '%s is not exact, and is refused',
  (hex) => expect(() => read(hex)).toThrow(new Malformed('a number beyond 2^53')),
)

test.each(['cc', 'cd 01', 'ce 010203', 'cf 00000001 000000', 'd3 00', 'ca 3fc000', 'cb bff80000 000000'])(
  '%s ends within a number',
  (hex) => expect(() => read(hex)).toThrow(new Malformed('it ends too early')),
)

// Without this law: an answer has millions of values in maps, and takes fifty times as much memory in the
// client as its bytes.
test('the names and the values of a map count as values', () => {
  const map = Buffer.from('83 a161 00 a162 90 a163 00'.replaceAll(' ', ''), 'hex')
  expect(unpack(map, { maps: true, most: 6 })).toEqual({ a: 0, b: [], c: 0 })
  expect(() => unpack(map, { maps: true, most: 5 })).toThrow(new Malformed('more values than there may be'))
})
