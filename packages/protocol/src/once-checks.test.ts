// Test: the checks of a txn and of another command that are applied only once, in bytes from outside.

import { expect, test } from 'vitest'
import { CAPS } from './fixed-limits.js'
import { decodeCommand } from './command-and-answer-codec.js'
import { pack } from './msgpack-encoder.js'
import { OP } from './command-and-read-wire-types.js'

const key = Uint8Array.of(1)
const txn = [OP.txn, null, [], [], []]

test('a key, a digest and a life', () => {
  const once = [key, new Uint8Array(64), CAPS.maxLife]
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

const once = [key, key, 1]

test('applyOnce contains one command that may be inside', () => {
  const inside = [
    [OP.touch, null, key, 1],
    [OP.nextSequence, [key, 1], key, 1],
    [OP.rotate, key, 'id', 0],
    [OP.countDown, key, 1],
  ]
  for (const command of inside) {
    const made = [OP.applyOnce, once, command]
    expect(decodeCommand(pack(made))).toEqual(made)
  }
})

test('applyOnce refuses every other content', () => {
  const countDown = [OP.countDown, key, 1]
  for (const command of [[OP.countDown, key, 0], [], null, [0, key], ['x'], [1.5]])
    expect(decodeCommand(pack([OP.applyOnce, once, command]))).toMatchObject({ bad: 'invalid' })
  // A later version may allow these operations. A member that finds one of them in its log must stop (A6).
  const ofLaterVersion = [
    [OP.put, null, key, key],
    [...txn, once],
    [OP.closeSession],
    [OP.enterBarrier, key, 'id', 2, 0],
    [OP.applyOnce, once, countDown],
    [99, key],
  ]
  for (const command of ofLaterVersion)
    expect(decodeCommand(pack([OP.applyOnce, once, command]))).toMatchObject({ bad: 'unknown' })
  for (const keptAt of [null, [key, key], [key, Buffer.alloc(65), 1]])
    expect(decodeCommand(pack([OP.applyOnce, keptAt, countDown]))).toMatchObject({ bad: 'invalid' })
  expect(decodeCommand(pack([OP.applyOnce, once]))).toMatchObject({ bad: 'invalid' })
  let nested: unknown = countDown
  for (let i = 0; i < 1_000; i++) nested = [OP.applyOnce, once, nested]
  expect(decodeCommand(pack(nested))).toMatchObject({ bad: 'invalid' })
})
