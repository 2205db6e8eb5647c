// Test: a packed row with a right checksum but a wrong form is ERR_CORRUPT, because anybody can make a backup
// file.

import { pack } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { META_KEY, SPACE, keyOf, keyOfNumber } from '../keyspaces.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import { decodeCounter, decodeHold, decodeWaiter } from './lock-rows.js'
import { decodeMeta, emptyMeta, encodeMeta } from './meta-row.js'

const key = Buffer.from('k')
const code = (run: () => unknown) => {
  try {
    run()
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
  return 'it was read'
}

const READERS = {
  hold: [keyOf(SPACE.holds, key), decodeHold],
  waiter: [keyOfNumber(SPACE.waiters, 1), decodeWaiter],
  counter: [keyOf(SPACE.counters, Buffer.of(0)), decodeCounter],
} as const

test.each(Object.entries(READERS))('a %s', (_, [at, decode]) => {
  for (const body of [null, [], 'text', [1, 2], { toString: 1 }, [key, key, key], -1, 1.5])
    expect(code(() => decode({ key: at, value: withChecksum(at, pack(body)) }))).toBe('ERR_CORRUPT')
  expect(code(() => decode({ key: at, value: withChecksum(at, Buffer.of(0xc1)) }))).toBe('ERR_CORRUPT')
})

test('the meta row, and one of another format, whose error names the format', () => {
  const read = (body: unknown) => code(() => decodeMeta(withChecksum(META_KEY, pack(body))))
  for (const body of [null, 7, [1], [1, [0, 0, 0], [], 0, 0, 0, [], []], { a: 1 }])
    expect(read(body)).toBe('ERR_CORRUPT')
  expect(() => decodeMeta(withChecksum(META_KEY, pack([99, 'x'])))).toThrow('These rows have format 99')
  expect(decodeMeta(encodeMeta(emptyMeta()))).toEqual(emptyMeta())
})
