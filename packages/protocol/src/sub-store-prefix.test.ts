// Test: the keys of a sub: commandBelow, readBelow and boundsBelow add the prefix, and toUserKey removes it.

import { EMPTY, compareBytes, prefixEnd, startsWith, text, utf8 } from '@latchkey/base'
import { expect, test } from 'vitest'
import {
  type Bounds,
  type KeyValueCommand,
  batchArgs,
  boundsBelow,
  checkCommand,
  commandBelow,
  compareAndPutAllArgs,
  deleteAllArgs,
  deleteRangeArgs,
  getAndPutArgs,
  incrementArgs,
  keyBelow,
  mergeArgs,
  multiGetArgs,
  nextSequenceArgs,
  putAllArgs,
  putArgs,
  putIfAbsentArgs,
  rangeArgs,
  readBelow,
  resetSequenceArgs,
  subArgs,
  toUserKey,
  touchArgs,
  txnArgs,
} from './index.js'

const STORE = { as: 'string', onUndecodable: 'error', prefix: EMPTY } as const
const PREFIX = utf8('p/')
const GUARD = { guard: { key: 'lock', token: 7 } }
const STEPS = [
  { type: 'put', key: 'key', value: 'V', ttl: '1s' },
  { type: 'merge', key: 'key', value: 'V' },
  { type: 'delete', key: 'key' },
  { type: 'deleteRange', start: 'key', end: 'key' },
  { type: 'increment', key: 'key', by: 2 },
]
const TXN = {
  when: [
    { key: 'key', value: 'V' },
    { lock: 'lock', token: 7 },
    { key: 'key', value: 1, as: 'number' },
  ],
  then: [...STEPS, { type: 'get', key: 'key' }],
  else: [{ type: 'get', key: 'key' }],
}
/** In each the names are 'key' and 'lock', and nothing else is. */
const COMMANDS: readonly KeyValueCommand[] = [
  putArgs('key', 'V', GUARD),
  putArgs('key', 'V', { ...GUARD, ttl: '1s' }),
  putIfAbsentArgs('key', 'V', GUARD),
  getAndPutArgs('key', 'V', GUARD),
  mergeArgs('key', 'V', GUARD),
  nextSequenceArgs('key', 5, GUARD),
  resetSequenceArgs('key', GUARD),
  incrementArgs('key', 5, GUARD),
  touchArgs('key', '5s', GUARD),
  putAllArgs([['key', 'V'], { key: 'key', value: 'V', ttl: '1s' }], GUARD),
  compareAndPutAllArgs([{ key: 'key', expect: 'V' }], GUARD),
  deleteAllArgs(['key', 'key'], GUARD),
  deleteRangeArgs('key', 'key', GUARD),
  batchArgs(STEPS, GUARD),
  txnArgs(TXN, GUARD),
  txnArgs(TXN, {}),
]

/** The command as text, its bytes too. */
const shown = (part: unknown): string => {
  if (part instanceof Uint8Array) return JSON.stringify(text(part))
  return Array.isArray(part) ? `[${part.map(shown).join()}]` : String(part)
}

test.each(COMMANDS.map((command) => [shown(command), command] as const))(
  'SV1: each name of a command is put behind the prefix, and nothing else of it: %s',
  (before, command) => {
    const after = commandBelow(PREFIX, command)
    expect(shown(after)).toBe(before.replaceAll('"key"', '"p/key"').replaceAll('"lock"', '"p/lock"'))
    expect(checkCommand(after)).toBeNull()
    expect(commandBelow(EMPTY, command)).toBe(command)
  },
)

test('SV1: a range below a prefix holds what it held before, and nothing else, with any bytes', () => {
  const bytes = [0x00, 0x2f, 0xfe, 0xff]
  const one = bytes.map((byte) => Uint8Array.of(byte))
  const keys = [...one, ...bytes.flatMap((a) => bytes.map((b) => Uint8Array.of(a, b)))]
  const ends = [null, EMPTY, ...keys]
  const holds = ({ start, end }: Bounds, key: Uint8Array) =>
    (start === null || compareBytes(start, key) <= 0) && (end === null || compareBytes(key, end) < 0)
  for (const prefix of keys) {
    const ranges = ends.flatMap((start) => ends.map((end) => ({ start, end })))
    for (const range of ranges) {
      const below = boundsBelow(prefix, range)
      for (const key of keys) {
        if (holds(below, keyBelow(prefix, key)) !== holds(range, key))
          expect([prefix, range, key]).toBe('held alike')
        if (!startsWith(key, prefix) && holds(below, key)) expect([prefix, range, key]).toBe('outside')
      }
    }
  }
  expect(boundsBelow(EMPTY, rangeArgs({ prefix: 'a' }))).toEqual(rangeArgs({ prefix: 'a' }))
  expect(boundsBelow(PREFIX, rangeArgs({ limit: 3, reverse: true }))).toEqual({
    ...rangeArgs({ limit: 3, reverse: true }),
    start: PREFIX,
    end: prefixEnd(PREFIX),
  })
})

test('reads; and the limit of a key, which counts the prefix', () => {
  expect(shown(readBelow(PREFIX, multiGetArgs(['a', 'b'])))).toBe(shown(multiGetArgs(['p/a', 'p/b'])))
  const most = 'k'.repeat(4094)
  expect(keyBelow(PREFIX, utf8(most)).length).toBe(4096)
  expect(() => readBelow(PREFIX, multiGetArgs(['a', `${most}k`]))).toThrow(
    'keys[1] has 4097 bytes with the 2 of the prefix of this sub; at most 4096 are allowed for both together.',
  )
  expect(boundsBelow(PREFIX, rangeArgs({ gt: most })).start?.length).toBe(4097)
  expect(() => boundsBelow(PREFIX, rangeArgs({ gte: `${most}kk` }))).toThrow(
    'a bound of the range has 4098 bytes',
  )
})

test('SV1, SV2: out again; a member that answers with a key from elsewhere is not believed', () => {
  const sub = subArgs('b/', { as: 'bytes' }, subArgs('a/', undefined, STORE))
  expect([text(sub.prefix), sub.as]).toEqual(['a/b/', 'bytes'])
  expect(toUserKey(utf8('a/b/c'), sub)).toEqual(utf8('c'))
  expect(toUserKey(utf8('a/b/c'), { ...sub, as: 'string' })).toBe('c')
  for (const key of ['a/b', 'a/c/c', ''])
    expect(() => toUserKey(utf8(key), sub)).toThrow(/no key below the prefix/)
})
