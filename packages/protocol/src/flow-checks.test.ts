// Test: the check of the flow in a lock request from outside.

import { expect, test } from 'vitest'
import { decodeCommand } from './command-and-answer-codec.js'
import { pack } from './msgpack-encoder.js'
import { OP } from './command-and-read-wire-types.js'

const key = Uint8Array.of(1)
const attempt = [OP.tryLock, key, null, false, 'x', 1_000, 0, null, null]
const set = [OP.tryLockAll, 'x', [[key, 0]], null, 1_000, null, null]

test('a flow: a name or none, and at most sixteen holds around it; with a share or null before it', () => {
  const right = [
    ['f', []],
    [null, ['x']],
    ['ü'.repeat(128), Array.from({ length: 16 }, () => 'x')],
  ]
  for (const flow of right) {
    expect(decodeCommand(pack([...attempt, null, flow]))).toEqual([...attempt, null, flow])
    expect(decodeCommand(pack([...attempt, [1, 0], flow]))).toEqual([...attempt, [1, 0], flow])
    expect(decodeCommand(pack([...set, flow]))).toEqual([...set, flow])
  }
})

test('anything else is refused', () => {
  const many = Array.from({ length: 17 }, () => 'x')
  const wrong = [[null], ['', []], ['f'.repeat(257), []], [null, ['']], [null, many], null, 'f', ['f', 'x']]
  const commands = [
    ...wrong.flatMap((flow) => [
      [...attempt, null, flow],
      [...set, flow],
    ]),
    [...attempt, null],
    [...attempt, null, ['f', []], 1],
    [...attempt, [1], ['f', []]],
    [...set, ['f', []], 1],
  ]
  for (const command of commands) expect(decodeCommand(pack(command))).toMatchObject({ bad: 'invalid' })
})
