// Test: the check of a txn that is applied only once, in bytes from outside.

import { expect, test } from 'vitest'
import { CAPS } from './fixed-limits.js'
import { decodeCommand } from './command-and-answer-codec.js'
import { pack } from './msgpack-encoder.js'
import { OP } from './command-and-read-wire-types.js'

const key = Buffer.of(1)
const txn = [OP.txn, null, [], [], []]

test('a key, a digest and a life', () => {
  const once = [key, Buffer.alloc(64), CAPS.maxLife]
  expect(decodeCommand(pack([...txn, once]))).toEqual([...txn, once])
  expect(decodeCommand(pack(txn))).toEqual(txn)
})

test('anything else is refused', () => {
  const wrong = [
    [Buffer.alloc(0), key, 1],
    [key, Buffer.alloc(0), 1],
    [key, Buffer.alloc(65), 1],
    [key, key, 0],
  ]
  for (const once of [...wrong, [key, key], [key, 'digest', 1], null])
    expect(decodeCommand(pack([...txn, once]))).toMatchObject({ bad: 'invalid' })
  expect(decodeCommand(pack([...txn, [key, key, 1], 1]))).toMatchObject({ bad: 'invalid' })
})
