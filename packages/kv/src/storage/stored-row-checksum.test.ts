// Test: the checksum of a stored row shows every changed byte (D18).

import { binary, checksum, seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { isIntact, withChecksum, storedChecksum, intactBody } from './stored-row-checksum.js'
import { keyChecksum, shortChecksum, withBytes, withWord } from './fast-crc32-of-short-bytes.js'

const random = seededRandom('checksums')
const bytes = (length: number) => Buffer.from(Array.from({ length }, () => random.between(0, 256)))

test('the short checksum equals the checksum, for bytes of any length and for both forms of a key', () => {
  for (let length = 0; length < 200; length++) {
    const key = bytes(1 + length)
    expect(shortChecksum(key)).toBe(checksum(key))
    expect(keyChecksum(key[0] as number, binary(key.subarray(1)))).toBe(checksum(key))
  }
})

test('a checksum can be continued with a word, or with the rest of some bytes', () => {
  for (let i = 0; i < 100; i++) {
    const [before, behind, word] = [bytes(i), bytes(i % 7), bytes(4)]
    const all = Buffer.concat([before, behind])
    expect(withBytes(checksum(before), all, i)).toBe(checksum(all))
    expect(withWord(checksum(before), word.readUInt32LE())).toBe(checksum(Buffer.concat([before, word])))
  }
})

test('the checksum of a row is the checksum of four zero bytes, the body, and the checksum of the key', () => {
  const key = bytes(20)
  const body = bytes(300)
  const value = withChecksum(key, body)
  const ofKey = Buffer.alloc(4)
  ofKey.writeUInt32LE(checksum(key))
  expect(storedChecksum(value)).toBe(checksum(Buffer.concat([Buffer.alloc(4), body, ofKey])))
  expect(Buffer.from(intactBody(key, value))).toEqual(body)
})

test('D18: any changed bit of a value or of its key, and any cut, is noticed', () => {
  for (const length of [0, 1, 40]) {
    const key = bytes(9)
    const value = Buffer.from(withChecksum(key, bytes(length)))
    expect(isIntact(key, value)).toBe(true)
    for (const part of [key, value]) {
      for (let bit = 0; bit < part.length * 8; bit++) {
        part[bit >> 3] = (part[bit >> 3] as number) ^ (1 << (bit & 7))
        expect(isIntact(key, value), `bit ${bit}`).toBe(false)
        part[bit >> 3] = (part[bit >> 3] as number) ^ (1 << (bit & 7))
      }
    }
    for (let end = 0; end < value.length; end++) expect(isIntact(key, value.subarray(0, end))).toBe(false)
  }
})
