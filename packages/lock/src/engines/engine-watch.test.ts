// Test: the events of a watch that compares the lists of holds at two moments.

import { EMPTY, utf8 } from '@latchkey/base'
import { KIND, type LockInfoResult, lockKeyOf } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { guardedKey, serverPrefixArg, withDriver } from './engine-arguments.js'
import { compareHolds } from './engine-watch.js'

const row = (name: string, id: string, token: number, remaining: number, waiters: string[] = []) =>
  [
    lockKeyOf(KIND.lock, utf8(name)),
    id,
    `of ${id}`,
    token,
    1,
    remaining,
    waiters.length,
    0,
    waiters.map((waiter) => [waiter, `of ${waiter}`, 0, 0]),
    0,
  ] as unknown as LockInfoResult

type Look = readonly [now: number, ...rows: LockInfoResult[]]

/** The events between two looks. */
async function between(before: Look, after: Look, renewals = false): Promise<string[]> {
  const looks = [before, after].map(([now, ...rows]) => ({ now, rows }))
  const over = new Error('over')
  const decoding = { as: 'string', onUndecodable: 'error', prefix: EMPTY } as const
  const look = async () => looks.shift() ?? Promise.reject(over)
  const seen: string[] = []
  const events = compareHolds({ look, pause: async () => {}, decoding, renewals })
  await expect(
    (async () => {
      for await (const { type, key, id, context, fencingToken } of events)
        seen.push(`${type} ${String(key)} ${id} ${String(context)} ${fencingToken}`)
    })(),
  ).rejects.toBe(over)
  return seen
}

test('a hold that began, one that was released, and one whose lease had ended', async () => {
  expect(await between([0], [10, row('k', 'a', 1, 100)])).toEqual(['acquired k a of a 1'])
  expect(await between([0, row('k', 'a', 1, 100)], [100])).toEqual(['released k a of a 1'])
  expect(await between([0, row('k', 'a', 1, 100)], [101])).toEqual(['expired k a of a 1'])
  expect(await between([0, row('k', 'a', 1, 100)], [10, row('k', 'b', 2, 100)])).toEqual([
    'released k a of a 1',
    'acquired k b of b 2',
  ])
  expect(await between([0, row('k', 'a', 1, 100)], [10, row('k', 'a', 1, 90)])).toEqual([])
})

test('a new token, and a renewal where renewals are wanted', async () => {
  const before = [0, row('k', 'a', 1, 100)] as const
  expect(await between(before, [10, row('k', 'a', 2, 100)], true)).toEqual(['rotated k a of a 2'])
  expect(await between(before, [10, row('k', 'a', 1, 91)], true)).toEqual(['renewed k a of a 1'])
  expect(await between(before, [10, row('k', 'a', 1, 90)], true)).toEqual([])
  expect(await between(before, [10, row('k', 'a', 1, 91)], false)).toEqual([])
})

test('waiters that came, that left, and that got the lock', async () => {
  const before = [0, row('k', 'a', 1, 100, ['x', 'y'])] as const
  expect(await between(before, [10, row('k', 'a', 1, 90, ['y', 'z'])])).toEqual([
    'queued k z of z 0',
    'left k x of x 0',
  ])
  expect(await between(before, [10, row('k', 'x', 2, 100, ['y'])])).toEqual([
    'released k a of a 1',
    'acquired k x of x 2',
  ])
  expect(await between(before, [10])).toEqual(['released k a of a 1', 'left k x of x 0', 'left k y of y 0'])
})

test('arguments that several engines have in common', async () => {
  expect([serverPrefixArg('x'), serverPrefixArg('x'.repeat(200)).length]).toEqual(['x', 200])
  for (const wrong of ['', 'x'.repeat(201), 7, undefined])
    expect(() => serverPrefixArg(wrong)).toThrow(/1 to 200 characters/)
  const name = lockKeyOf(KIND.lock, utf8('k'))
  expect([guardedKey({ key: 'k', token: 1 }), guardedKey({ key: utf8('k'), token: 1 })]).toEqual([name, name])
  expect(() => guardedKey({ key: 'k', token: 1.5 })).toThrow(/safe integer; got 1.5/)
  expect(await withDriver('x://', 'driver', async () => 7)).toBe(7)
  const missing = Object.assign(new Error('none'), { code: 'ERR_MODULE_NOT_FOUND' })
  await expect(withDriver('x://', 'driver', () => Promise.reject(missing))).rejects.toThrow(
    'x:// needs the driver driver: npm install driver',
  )
  const other = new Error('other')
  await expect(withDriver('x://', 'driver', () => Promise.reject(other))).rejects.toBe(other)
})
