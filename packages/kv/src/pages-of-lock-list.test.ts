// Test: parts of the list of locks. Random holds are listed page by page, and compared with the whole list.

import { compareBytes } from '@latchkey/base'
import { type Command, KIND, lockKeyOf, type LockInfoResult, OP, READ } from '@latchkey/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { k, World } from './testing/state-machine-with-own-log.js'

const acquire = (key: Uint8Array, id: string, lease: number, isShared: boolean): Command => {
  const attempt = [OP.tryLock, key, null, false, id, lease, 0, null, null] as const
  return isShared ? [...attempt, [1, 0]] : attempt
}

const listed = (
  world: World,
  prefix: Uint8Array | null,
  ...page: [after: Uint8Array | null, limit: number][]
) => world.machine.read([READ.lockQuery, prefix, false, false, ...page] as never) as LockInfoResult[]
const shown = (rows: readonly LockInfoResult[]) =>
  rows.map(([key, id]) => `${Buffer.from(key).toString('latin1')} ${id}`)

/** The part of the list that the wire type ListPageArg describes, taken from the whole list. */
function partOf(all: readonly LockInfoResult[], after: Uint8Array | null, limit: number) {
  const behind = all.filter(([key]) => after === null || compareBytes(key, after) > 0)
  let end = limit
  while (end > 0 && end < behind.length && compareBytes(behind[end]![0], behind[end - 1]![0]) === 0) end++
  return behind.slice(0, end + 1)
}

const KINDS = [KIND.lock, KIND.lock, KIND.semaphore]
const held = fc.record({
  name: fc.constantFrom('a', 'a/', 'a/1', 'a/2', 'a/3', 'b', 'b/1', '\u00ff', 'c'),
  kind: fc.constantFrom(...KINDS),
  holders: fc.integer({ min: 1, max: 4 }),
  lease: fc.constantFrom(100, 10_000),
})

test('each part of the list has the rows that the whole list has there', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(held, { maxLength: 12 }), async (holds) => {
      const world = await World.open()
      for (const [at, { name, kind, holders, lease }] of holds.entries()) {
        const key = lockKeyOf(kind, Buffer.from(name, 'latin1'))
        for (let i = 0; i < holders; i++)
          await world.one(acquire(key, `${at}-${holders - i}`, lease, holders > 1))
      }
      world.time += 101
      await world.one([OP.keepAlive])
      for (const prefix of [null, k('a'), lockKeyOf(KIND.semaphore, k('a'))]) {
        const all = listed(world, prefix)
        for (const after of [null, k('a'), lockKeyOf(KIND.semaphore, k('a/1')), k('a/2'), k('zz')])
          for (const limit of [0, 1, 2, 3, 5, 1_000])
            expect(shown(listed(world, prefix, [after, limit]))).toEqual(shown(partOf(all, after, limit)))
      }
    }),
    { numRuns: 40 },
  )
})

test('a part of a list of many locks has only the first locks after its start', async () => {
  const world = await World.open()
  const name = (i: number) => k(`l${String(i).padStart(4, '0')}`)
  for (let from = 0; from < 3_000; from += 500) {
    const names = Array.from({ length: 500 }, (_, i) => name(((from + i) * 997) % 3_000))
    await world.run(...names.map((key) => acquire(key, 'me', 10_000, false)))
  }
  const part = listed(world, null, [name(1_499), 7])
  expect(shown(part)).toEqual(Array.from({ length: 8 }, (_, i) => `l${1_500 + i} me`))
})
