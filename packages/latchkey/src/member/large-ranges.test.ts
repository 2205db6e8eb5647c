// Test: a deleteRange waits for its survey before it is written into the log, what its session writes behind it too, and nobody else.

import { utf8 } from '@latchkey/base'
import type { KvStore } from '@latchkey/kv'
import { type Command, encodeCommand, OP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { LargeRanges } from './large-ranges.js'

const [a, z] = [utf8('a'), utf8('z')]
const RANGE: Command = [OP.deleteRange, null, a, z]
const PUT: Command = [OP.put, null, a, z]
const RENEW: Command = [OP.renew, [[a, 'id', 1, 1_000]]]

function surveyed() {
  const ends: (() => void)[] = []
  const submitted: string[] = []
  const survey = (body: Uint8Array) =>
    body[1] === OP.deleteRange ? new Promise<void>((resolve) => ends.push(resolve)) : undefined
  const ranges = new LargeRanges({ survey } as unknown as KvStore)
  const pass = (session: number, command: Command, name: string) =>
    ranges.pass(session, encodeCommand(command), () => submitted.push(name))
  const end = async () => {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { pass, end, submitted, ranges }
}

test('A15: writes of its session wait behind it, in order; renewals and other sessions do not', async () => {
  const { pass, end, submitted, ranges } = surveyed()
  expect([RANGE, PUT, RENEW].map((command) => ranges.concerns(encodeCommand(command)))).toEqual([
    true,
    false,
    false,
  ])
  pass(1, PUT, 'before')
  pass(1, RANGE, 'range')
  pass(1, PUT, 'behind')
  pass(1, RENEW, 'renewal')
  pass(2, PUT, 'other')
  pass(1, RANGE, 'second range')
  expect(submitted).toEqual(['before', 'renewal', 'other'])
  await end()
  expect(submitted).toEqual(['before', 'renewal', 'other', 'range', 'behind', 'second range'])
  pass(1, PUT, 'last')
  expect(submitted.at(-1)).toBe('last')
})

test('no more than so many wait behind one', async () => {
  const { pass, end, submitted } = surveyed()
  pass(1, RANGE, 'range')
  for (let i = 0; i < 1_100; i++) pass(1, PUT, `${i}`)
  expect(submitted.length).toBe(77)
  await end()
  expect(submitted.length).toBe(1_101)
})
