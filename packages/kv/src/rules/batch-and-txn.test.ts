// Test: transactions: conditions, both branches, and the results of a get in a branch.

import { type ConditionArg, FIELD, IS, OP, READ, STEP } from '@latchkey/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf, show } from '../testing/results-as-text.js'
import { World, k } from '../testing/state-machine-with-own-log.js'

let w: World
beforeEach(async () => {
  w = await World.open()
  await w.one([OP.put, null, k('a'), k('m')])
  await w.one([OP.put, null, k('a'), k('m')])
})

const holds = async (...when: ConditionArg[]) =>
  ((await w.one([OP.txn, null, when, [], []])) as unknown[])[0] as boolean

const ABSENT = 'none'
describe('conditions on a value', () => {
  const rows: [key: string, is: keyof typeof IS, value: string | null, expected: boolean][] = [
    ['a', '=', 'm', true],
    ['a', '=', 'x', false],
    ['a', '!=', 'x', true],
    ['a', '!=', 'm', false],
    ['a', '<', 'n', true],
    ['a', '<', 'm', false],
    ['a', '>', 'l', true],
    ['a', '>', 'm', false],
    ['a', '=', null, false],
    ['a', '!=', null, true],
    ['a', '<', null, false],
    ['a', '>', null, false],
    [ABSENT, '=', null, true],
    [ABSENT, '!=', null, false],
    [ABSENT, '=', '', false],
    [ABSENT, '!=', 'x', true],
    [ABSENT, '<', 'x', false],
    [ABSENT, '>', '', false],
  ]
  test.each(rows)('%s %s %s: %s', async (key, is, value, expected) => {
    expect(await holds([FIELD.value, IS[is], k(key), value === null ? null : k(value)])).toBe(expected)
  })
})

describe('conditions on numbers', () => {
  const rows: [
    field: 'version' | 'createRevision' | 'modRevision',
    is: keyof typeof IS,
    key: string,
    n: number,
    expected: boolean,
  ][] = [
    ['version', '=', 'a', 2, true],
    ['version', '>', 'a', 1, true],
    ['version', '<', 'a', 2, false],
    ['createRevision', '=', 'a', 1, true],
    ['modRevision', '=', 'a', 2, true],
    ['modRevision', '!=', 'a', 1, true],
    ['version', '=', ABSENT, 0, true],
    ['createRevision', '<', ABSENT, 1, true],
    ['modRevision', '>', ABSENT, 0, false],
  ]
  test.each(rows)('%s %s of %s, %s: %s', async (field, is, key, n, expected) => {
    expect(await holds([FIELD[field], IS[is], k(key), n])).toBe(expected)
  })
})

test('a condition on a lock: held with that token at this time', async () => {
  await w.one([OP.tryLock, k('l'), null, false, 'me', 1_000, 0, null, null])
  const held = (token: number): ConditionArg => [FIELD.lock, IS['='], k('l'), token]
  expect(await holds(held(1))).toBe(true)
  expect(await holds(held(2))).toBe(false)
  await w.tick(1_000)
  expect(await holds(held(1))).toBe(true)
  await w.tick(1)
  expect(await holds(held(1))).toBe(false)
})

test('all conditions must hold; then or else is run; one revision; a get sees the steps before it', async () => {
  const good: ConditionArg = [FIELD.value, IS['='], k('a'), k('m')]
  const bad: ConditionArg = [FIELD.value, IS['='], k('a'), k('z')]
  const then = [
    [STEP.put, k('b'), k('1')],
    [STEP.get, k('b')],
    [STEP.get, k(ABSENT)],
    [STEP.delete, k('a')],
  ] as const
  const otherwise = [[STEP.get, k('a')]] as const
  expect(show(await w.one([OP.txn, null, [good, bad], then, otherwise]))).toEqual([
    false,
    2,
    [[1, 2, 2, 'm']],
  ])
  expect(show(await w.one([OP.txn, null, [good], then, otherwise]))).toEqual([
    true,
    3,
    [true, [3, 3, 1, '1'], null, 1],
  ])
  expect(w.machine.revision).toBe(3)
})

test('deleteRange in either branch of a txn', async () => {
  await w.machine.flush()
  const never: ConditionArg = [FIELD.version, IS['='], k('a'), 99]
  const clear = [[STEP.deleteRange, k('a'), k('b')]] as const
  expect(await w.one([OP.txn, null, [never], clear, []])).toEqual([false, 2, []])
  expect(await w.one([OP.txn, null, [never], [], clear])).toEqual([false, 3, [1]])
  expect(w.machine.read([READ.get, k('a')])).toBeNull()
})

test('the results of a txn are 4 MiB at most: a larger one is refused and changes nothing', async () => {
  const value = new Uint8Array(1024 * 1024)
  for (const key of ['v1', 'v2', 'v3', 'v4', 'v5']) await w.one([OP.put, null, k(key), value])
  const get = (keys: string[]) =>
    w.one([
      OP.txn,
      null,
      [],
      [[STEP.put, k('mark'), k('1')], ...keys.map((key) => [STEP.get, k(key)] as const)],
      [],
    ])
  const { revision } = w.machine
  expect(codeOf(await get(['v1', 'v2', 'v3', 'v4', 'v5']))).toBe('ERR_TOO_LARGE')
  expect([w.machine.revision, w.machine.read([READ.get, k('mark')])]).toEqual([revision, null])
  expect(((await get(['v1', 'v2', 'v3', 'v4'])) as unknown[])[0]).toBe(true)
})
