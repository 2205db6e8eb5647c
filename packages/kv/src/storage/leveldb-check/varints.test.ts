// Test: the variable-length numbers of LevelDB's files, up to the largest number and the largest length.

import { expect, test } from 'vitest'
import { Varints } from './varints.js'

const read = (...bytes: number[]) => new Varints(Buffer.from(bytes))
/** The bytes of a number, seven bits in each byte, the lowest bits first. */
function bytesOf(value: number): number[] {
  const rest = Math.floor(value / 128)
  return rest === 0 ? [value] : [(value % 128) + 128, ...bytesOf(rest)]
}

test('a number is read with all its bytes, and the next number begins after it', () => {
  for (const value of [
    0,
    1,
    127,
    128,
    16_383,
    16_384,
    2 ** 32,
    2 ** 49 - 1,
    2 ** 49,
    Number.MAX_SAFE_INTEGER,
  ]) {
    const numbers = read(...bytesOf(value), 5)
    expect([numbers.next(), numbers.atEnd, numbers.next(), numbers.atEnd]).toEqual([value, false, 5, true])
  }
})

test('a number that does not end, or has more bytes than any offset needs, is none', () => {
  expect(read().next()).toBeNaN()
  expect(read(0x80).next()).toBeNaN()
  expect(read(...Array(7).fill(0x80), 1).next()).toBe(2 ** 49)
  expect(read(...Array(8).fill(0x80), 1).next()).toBeNaN()
  expect(read(...Array(8).fill(0x80), 0).next()).toBeNaN()
})

test('a handle has an offset and a size whose sum is an exact number', () => {
  expect(read(...bytesOf(300), 7).handle()).toEqual({ offset: 300, size: 7 })
  expect(read(...bytesOf(300)).handle()).toBeUndefined()
  expect(read(...bytesOf(Number.MAX_SAFE_INTEGER), 0).handle()).toEqual({
    offset: Number.MAX_SAFE_INTEGER,
    size: 0,
  })
  expect(read(...bytesOf(Number.MAX_SAFE_INTEGER), 1).handle()).toBeUndefined()
})

test('after a skip of a length that is no number, nothing more is read', () => {
  const numbers = read(1, 2, 3, 4)
  numbers.skip(2)
  expect([numbers.atEnd, numbers.next()]).toEqual([false, 3])
  numbers.skip(Number.NaN)
  expect([numbers.atEnd, numbers.next()]).toEqual([true, Number.NaN])
})
