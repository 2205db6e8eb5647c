// Test: the functions that read and write numbers byte by byte give the same results as the methods of
// Buffer.

import { expect, test } from 'vitest'
import { u32, u48, writeU16, writeU32, writeU48 } from './little-endian.js'

const some = [
  0,
  1,
  255,
  256,
  65_535,
  65_536,
  2 ** 24,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 40 + 7,
  2 ** 48 - 1,
]

test.each(some)('%d', (number) => {
  for (const [width, write] of [
    [2, writeU16],
    [4, writeU32],
    [6, writeU48],
  ] as const) {
    const own = Buffer.alloc(10, 0xaa)
    const theirs = Buffer.alloc(10, 0xaa)
    write(own, 1, number)
    theirs.writeUIntLE(number % 2 ** (8 * width), 1, width)
    expect(own).toEqual(theirs)
  }
  const bytes = Buffer.alloc(10, 0xaa)
  writeU48(bytes, 3, number)
  expect([u32(bytes, 3), u48(bytes, 3)]).toEqual([number % 2 ** 32, number])
})
