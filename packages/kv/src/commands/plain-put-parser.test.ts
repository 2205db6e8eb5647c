// Test: the fast decoder of puts accepts only what the normal decoder accepts, and finds the same key and
// value.

import { seededRandom } from '@latchkey/base'
import { OP, decodeCommand, encodeCommand, pack } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { plainKeyAt, plainKeyEnd, plainValueAt } from './plain-put-parser.js'

const random = seededRandom('plain puts')
const bytes = (length: number) => Buffer.from(Array.from({ length }, () => random.between(0, 256)))

/** The command stands between other bytes, which must not matter. */
function agrees(body: Uint8Array): boolean {
  const from = random.between(0, 4)
  const data = Buffer.concat([bytes(from), body, bytes(random.between(0, 4))])
  const end = from + body.length
  const at = plainValueAt(data, from, end)
  if (at === 0) return false
  const [op, guard, key, value] = decodeCommand(body) as readonly [number, null, Uint8Array, Uint8Array]
  expect([op, guard]).toEqual([OP.put, null])
  expect(Buffer.from(key)).toEqual(Buffer.from(data.subarray(plainKeyAt(from), plainKeyEnd(data, from))))
  expect(Buffer.compare(value, data.subarray(at, end))).toBe(0)
  return true
}

test('puts of every size', () => {
  for (const keyLength of [1, 2, 31, 255]) {
    for (const length of [0, 1, 255, 256, 65_535, 65_536, 1024 * 1024])
      expect(agrees(encodeCommand([OP.put, null, bytes(keyLength), Buffer.alloc(length, 7)]))).toBe(true)
  }
})

test('other commands, and malformed ones, are left to the decoder', () => {
  const long = Buffer.alloc(1024 * 1024 + 1)
  const key = bytes(9)
  const others = [
    encodeCommand([OP.put, [key, 3], key, bytes(4)]),
    encodeCommand([OP.put, null, bytes(256), bytes(4)]),
    encodeCommand([OP.merge, null, key, bytes(4)]),
    pack([OP.put, null, new Uint8Array(0), bytes(4)]),
    pack([OP.put, null, key, long]),
    pack([OP.put, null, key, 'text']),
    pack([OP.put, null, key, null]),
    pack([OP.put, null, key, bytes(3), 1]),
    Buffer.concat([encodeCommand([OP.put, null, key, bytes(4)]), bytes(1)]),
  ]
  for (const body of others) expect(agrees(body)).toBe(false)
})

test('any command: cut, changed, or random', () => {
  const whole = Buffer.from(encodeCommand([OP.put, null, bytes(5), bytes(300)]))
  for (let end = 0; end < whole.length; end++) expect(agrees(whole.subarray(0, end))).toBe(false)
  let taken = 0
  for (let i = 0; i < 20_000; i++) {
    const body = Buffer.from(random.chance(0.5) ? whole : whole.subarray(0, random.between(0, 40)))
    for (let n = random.between(1, 4); n > 0; n--) body[random.between(0, 12)] = random.between(0, 256)
    if (agrees(body)) taken++
  }
  expect(taken).toBeGreaterThan(100)
})
