// Test: the check of users' arguments finds each kind of mistake. Each row of the table is one mistake.

import { EMPTY } from '@latchkey/base'
import { expect, test } from 'vitest'
import {
  batchArgs,
  callArgs,
  checkCommand,
  compareAndPutAllArgs,
  compareAndPutArgs,
  containsArgs,
  deleteAllArgs,
  deleteArgs,
  deleteRangeArgs,
  getArgs,
  isEmptyRange,
  isLatchkeyError,
  mergeArgs,
  multiGetArgs,
  nextSequenceArgs,
  putAllArgs,
  putArgs,
  rangeArgs,
  readArgs,
  txnArgs,
  watchArgs,
} from './index.js'

const BYTES = { as: 'bytes', onUndecodable: 'error', prefix: EMPTY } as const
const JSON_TEXT = { ...BYTES, as: 'json' } as const
const none = undefined
const LONG_KEY = 'k'.repeat(4097)
const LONG_VALUE = new Uint8Array(1024 * 1024 + 1)

/** [what is done, the name that the TypeError speaks of] */
const MISTAKES: [() => unknown, string][] = [
  [() => getArgs(''), 'key'],
  [() => getArgs(5), 'key'],
  [() => getArgs(undefined), 'key'],
  [() => getArgs(null), 'key'],
  [() => getArgs(new ArrayBuffer(3)), 'key'],
  [() => getArgs([1]), 'key'],
  [() => containsArgs(new Uint8Array(0)), 'key'],
  [() => multiGetArgs('k'), 'keys'],
  [() => multiGetArgs(['a', '']), 'keys[1]'],
  [() => putArgs('k', 5, none), 'value'],
  [() => putArgs('k', undefined, none), 'value'],
  [() => putArgs('k', { a: 1 }, none), 'value'],
  [() => putArgs('', 'v', none), 'key'],
  [() => putArgs('k', 'v', { guard: 1 }), 'guard'],
  [() => putArgs('k', 'v', { guard: { token: 1 } }), 'guard.key'],
  [() => putArgs('k', 'v', { guard: { key: 'l' } }), 'guard.token'],
  [() => putArgs('k', 'v', { guard: { key: 'l', token: 0 } }), 'guard.token'],
  [() => putArgs('k', 'v', { guard: { key: 'l', token: 1.5 } }), 'guard.token'],
  [() => putAllArgs(5, none), 'entries'],
  [() => putAllArgs('ab', none), 'entries'],
  [() => putAllArgs([5], none), 'entries[0]'],
  [() => putAllArgs([['a', 'b'], { key: 'c' }], none), 'entries[1].value'],
  [() => compareAndPutArgs('k', 5, 'v', none), 'expect'],
  [() => compareAndPutArgs('k', 'v', null, none), 'update'],
  [() => compareAndPutAllArgs({}, none), 'list'],
  [() => compareAndPutAllArgs([{ key: 'k', expect: 1 }], none), 'list[0].expect'],
  [() => mergeArgs('k', undefined, none), 'value'],
  [() => deleteArgs('', none), 'key'],
  [() => deleteAllArgs('k', none), 'keys'],
  [() => deleteRangeArgs('a', undefined, none), 'end'],
  [() => deleteRangeArgs('', 'b', none), 'start'],
  [() => batchArgs({}, none), 'ops'],
  [() => batchArgs([{ type: 'drop' }], none), 'ops[0].type'],
  [() => batchArgs([{ type: 'get', key: 'k' }], none), 'ops[0].type'],
  [() => batchArgs([{ type: 'put', key: 'k' }], none), 'ops[0].value'],
  [() => batchArgs([{ type: 'deleteRange', start: 'a' }], none), 'ops[0].end'],
  [() => txnArgs(undefined, none), 'txn'],
  [() => txnArgs({ when: 5 }, none), 'when'],
  [() => txnArgs({ when: [{ key: 'k', field: 'size' }] }, none), 'when[0].field'],
  [() => txnArgs({ when: [{ key: 'k', is: '>=' }] }, none), 'when[0].is'],
  [() => txnArgs({ when: [{ key: 'k', value: 5 }] }, none), 'when[0].value'],
  [() => txnArgs({ when: [{ key: 'k', field: 'version', value: 'v' }] }, none), 'when[0].value'],
  [() => txnArgs({ when: [{ lock: 'k' }] }, none), 'when[0].token'],
  [() => txnArgs({ then: [{ type: 'x' }] }, none), 'then[0].type'],
  [() => txnArgs({ else: [5] }, none), 'else[0]'],
  [() => nextSequenceArgs('k', 0, none), 'step'],
  [() => nextSequenceArgs('k', -1, none), 'step'],
  [() => nextSequenceArgs('k', 1.5, none), 'step'],
  [() => nextSequenceArgs('k', 2 ** 53, none), 'step'],
  [() => nextSequenceArgs('k', '1', none), 'step'],
  [() => rangeArgs(5), 'range'],
  [() => rangeArgs({ gte: 'a', gt: 'b' }), 'gte'],
  [() => rangeArgs({ lte: 'a', lt: 'b' }), 'lte'],
  [() => rangeArgs({ limit: -1 }), 'limit'],
  [() => rangeArgs({ limit: 1.5 }), 'limit'],
  [() => rangeArgs({ limit: Number.POSITIVE_INFINITY }), 'limit'],
  [() => rangeArgs({ reverse: 1 }), 'reverse'],
  [() => rangeArgs({ keysOnly: 'yes' }), 'keysOnly'],
  [() => rangeArgs({ prefix: 5 }), 'prefix'],
  [() => watchArgs(undefined), 'target'],
  [() => watchArgs({}), 'target'],
  [() => watchArgs({ key: 'k', prefix: 'k' }), 'target'],
  [() => watchArgs({ key: '' }), 'key'],
  [() => watchArgs({ range: { gte: 'a', gt: 'b' } }), 'gte'],
  [() => watchArgs({ key: 'k', from: -1 }), 'from'],
  [() => watchArgs({ key: 'k', from: 'now' }), 'from'],
  [() => callArgs('put', 5), 'options'],
  [() => callArgs('put', null), 'options'],
  [() => callArgs('put', { timeout: 0 }), 'timeout'],
  [() => callArgs('put', { timeout: Number.POSITIVE_INFINITY }), 'timeout'],
  [() => callArgs('put', { timeout: Number.NaN }), 'timeout'],
  [() => callArgs('put', { timeout: '5 s' }), 'timeout'],
  [() => callArgs('put', { timeout: 1.5 }), 'timeout'],
  [() => callArgs('put', { signal: {} }), 'signal'],
  [() => readArgs('get', { as: 'text' }, BYTES), 'as'],
  [() => readArgs('get', { consistency: 'strong' }, BYTES), 'consistency'],
]

test.each(MISTAKES.map(([run, name], at) => [at, name, run] as const))(
  'mistake %i is a TypeError that names %s',
  (_, name, run) => {
    let error: unknown
    try {
      run()
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(TypeError)
    expect((error as { code?: string }).code).toBe(undefined)
    expect((error as Error).message.startsWith(name), (error as Error).message).toBe(true)
  },
)

test('what is too large is ERR_TOO_LARGE, not applied', () => {
  const runs = [
    () => getArgs(LONG_KEY),
    () => putArgs(LONG_KEY, 'v', none),
    () => putArgs('k', LONG_VALUE, none),
    () => putArgs('k', 'é'.repeat(600_000), none),
    () => mergeArgs('k', LONG_VALUE, none),
    () => batchArgs([{ type: 'put', key: 'k', value: LONG_VALUE }], none),
    () => rangeArgs({ gte: LONG_KEY }),
    () => watchArgs({ key: LONG_KEY }),
    () => compareAndPutArgs('k', LONG_VALUE, undefined, none),
  ]
  for (const run of runs) {
    let error: unknown
    try {
      run()
    } catch (thrown) {
      error = thrown
    }
    expect(isLatchkeyError(error, 'ERR_TOO_LARGE')).toBe(true)
    expect(error).toMatchObject({ outcome: 'not-applied', retryable: false })
  }
  expect(() => putArgs('k'.repeat(4096), new Uint8Array(1024 * 1024), none)).not.toThrow()
})

test('what is right makes commands that the other side takes', () => {
  const options = { guard: { key: 'lock', token: 3 } }
  const commands = [
    putArgs('k', 'v', options),
    putAllArgs(new Map([['a', 'b']]), options),
    putAllArgs([{ key: 'a', value: Buffer.from('b') }], none),
    putAllArgs([], none),
    compareAndPutArgs('k', undefined, undefined, none),
    compareAndPutAllArgs([{ key: 'k' }], none),
    deleteAllArgs([], none),
    deleteRangeArgs('b', 'a', none),
    batchArgs(
      [
        { type: 'merge', key: 'k', value: '' },
        { type: 'delete', key: 'k' },
        { type: 'deleteRange', start: 'a', end: 'b' },
      ],
      none,
    ),
    txnArgs({}, none),
    txnArgs(
      {
        when: [
          { key: 'k' },
          { key: 'k', field: 'version', is: '>', value: 0 },
          { key: 'k', field: 'modRevision' },
          { lock: 'l', token: 5 },
        ],
        then: [{ type: 'get', key: 'k' }],
        else: [{ type: 'put', key: 'k', value: 'v' }],
      },
      none,
    ),
    nextSequenceArgs('k', 10, none),
  ]
  for (const command of commands) expect(checkCommand(command)).toBe(null)
  expect(txnArgs({ when: [{ key: 'k', field: 'version' }] }, none)[2]).toEqual([[1, 0, Buffer.from('k'), 0]])
})

test('ranges: bounds, prefixes, and both together', () => {
  const shown = (range: object) => {
    const { start, end } = rangeArgs(range)
    return [start && Buffer.from(start).toString('latin1'), end && Buffer.from(end).toString('latin1')]
  }
  expect(shown({})).toEqual([null, null])
  expect(shown({ gte: 'a', lt: 'b' })).toEqual(['a', 'b'])
  expect(shown({ gt: 'a', lte: 'b' })).toEqual(['a\0', 'b\0'])
  expect(shown({ prefix: 'ab' })).toEqual(['ab', 'ac'])
  expect(shown({ prefix: '' })).toEqual(['', null])
  expect(shown({ prefix: Uint8Array.of(0xff, 0xff) })).toEqual(['\xff\xff', null])
  expect(shown({ prefix: 'ab', gt: 'abc', lt: 'z' })).toEqual(['abc\0', 'ac'])
  expect(isEmptyRange(rangeArgs({ gte: 'b', lt: 'b' }))).toBe(true)
  expect(isEmptyRange(rangeArgs({ prefix: 'a', gte: 'b' }))).toBe(true)
  expect(isEmptyRange(rangeArgs({ lt: '' }))).toBe(true)
  expect(isEmptyRange(rangeArgs({ gte: 'a', lte: 'a' }))).toBe(false)
})

test('arguments of reads are copied: what the caller does with its arrays afterwards changes nothing', () => {
  const key = Buffer.from('key')
  const read = getArgs(key)
  const { start } = rangeArgs({ prefix: key })
  const watched = watchArgs({ key })
  key.fill(0)
  expect(
    [
      Buffer.from(read[1] as Uint8Array),
      Buffer.from(start as Uint8Array),
      Buffer.from(watched.start as Uint8Array),
    ].map(String),
  ).toEqual(['key', 'key', 'key'])
  expect(watchArgs({ prefix: 'p', from: 0 }).from).toBe(1)
  expect(watchArgs({ prefix: 'p' }).from).toBe(undefined)
})

test('options: the defaults, and what is given', () => {
  expect(callArgs('put', undefined)).toEqual({ timeout: 5_000, signal: undefined })
  expect(callArgs('put', { timeout: '2m' }).timeout).toBe(120_000)
  expect(callArgs('put', undefined, null).timeout).toBe(undefined)
  expect(callArgs('put', {}, null).timeout).toBe(undefined)
  expect(callArgs('put', { timeout: 3 }, null).timeout).toBe(3)
  expect(readArgs('get', undefined, JSON_TEXT)).toEqual({
    timeout: 5_000,
    signal: undefined,
    ...JSON_TEXT,
    stale: false,
  })
  expect(readArgs('get', { as: 'string', consistency: 'stale' }, JSON_TEXT)).toMatchObject({
    as: 'string',
    stale: true,
  })
})
