// Test: a store stays small on the disk if its oldest rows are removed again and again.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '@latchkey/base'
import { afterAll, expect, test } from 'vitest'
import { Folders } from '../testing/temporary-folders.js'
import { classicLevelStorage } from './classic-level-storage.js'
import type { RowChange, RowStore } from './row-store-interface.js'
import { SpaceReclaimer, type Tables } from './disk-space-reclaimer.js'
import { withChecksum } from './stored-row-checksum.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

const key = (i: number) => Buffer.from(`r${String(i).padStart(8, '0')}`)
const VALUE = Buffer.alloc(400, 7)
const ROWS = 320_000
const KEPT = 10_000
const PER_BATCH = 5_000

/** LevelDB may remove a file between the two calls. */
const bytesIn = (dir: string): number =>
  readdirSync(dir)
    .map((name) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0)

test('the tables of a queue do not pile up: of 130 MB that were written 4 MB are kept', {
  timeout: 60_000,
}, async () => {
  const dir = join(folders.make(), 'state')
  const storage = classicLevelStorage(dir)
  await (await storage.build()).commit()
  const store = (await storage.open()) as RowStore
  for (let next = 0; next < ROWS; next += PER_BATCH) {
    const batch: RowChange[] = []
    for (let i = next; i < next + PER_BATCH; i++) {
      batch.push({ key: key(i), value: VALUE })
      if (i >= KEPT) batch.push({ key: key(i - KEPT), value: undefined })
    }
    await store.write(batch)
  }
  expect(store.get(key(ROWS - KEPT - 1))).toBeUndefined()
  expect(store.get(key(ROWS - KEPT))?.length).toBe(VALUE.length)
  await store.close()
  expect(bytesIn(join(dir, 'rows-1'))).toBeLessThan(40e6)
})

/** Fake tables that record the calls, and end a compaction when the test says so. */
function fakeTables({ size = 0, below = true } = {}) {
  const asked: string[] = []
  let end: ((error?: Error) => void) | undefined
  const tables: Tables = {
    compact: (start, last) => {
      asked.push(Buffer.concat([start, Buffer.from('..'), last]).toString())
      return new Promise((resolve, reject) => {
        end = (error) => (error === undefined ? resolve() : reject(error))
      })
    },
    size: async () => size,
    isBelow: async () => below,
  }
  return { asked, tables, end: async (error?: Error) => (end?.(error), await settled()) }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))
const space = (letter: string) => letter.charCodeAt(0)

test('in a queue one compaction runs at a time, for the rows removed so far; a failed one has no further effect', async () => {
  const { asked, tables, end } = fakeTables()
  const reclaimer = new SpaceReclaimer(tables, { queues: { [space('r')]: 3 }, others: [] })
  const remove = (...numbers: number[]) => {
    for (const i of numbers) reclaimer.removed(key(i))
    reclaimer.removed(Buffer.from('d-of no such space'))
    reclaimer.written()
  }
  remove(1, 2)
  expect(asked).toEqual([])
  remove(3)
  expect(asked).toEqual(['r..r00000003'])
  remove(4, 5, 6)
  expect(asked).toHaveLength(1)
  await end(new Error('the disk'))
  remove(7)
  expect(asked).toEqual(['r..r00000003', 'r..r00000007'])
})

test('rows that were removed during a compaction are checked after it, even if no write follows', async () => {
  const { asked, tables, end } = fakeTables()
  const reclaimer = new SpaceReclaimer(tables, { queues: { [space('r')]: 1 }, others: [] })
  reclaimer.removed(key(1))
  reclaimer.written()
  reclaimer.removed(key(2))
  reclaimer.written()
  await end()
  expect(asked).toEqual(['r..r00000001', 'r..r00000002'])
})

test('a removed key is kept as a copy, because the bytes of its batch may be reused', async () => {
  const { asked, tables } = fakeTables()
  const reclaimer = new SpaceReclaimer(tables, { queues: { [space('r')]: 2 }, others: [] })
  const bytes = key(1)
  reclaimer.removed(bytes)
  reclaimer.written()
  bytes.fill(0xff)
  reclaimer.removed(key(0))
  reclaimer.written()
  expect(asked).toEqual(['r..r00000001'])
})

test.each([
  ['little is there', { size: 1024 * 1024, below: true }, 200, 0],
  ['most of it is live', { size: 50_000_000, below: false }, 200, 0],
  ['most of it is garbage', { size: 50_000_000, below: true }, 200, 1],
  ['few rows were removed', { size: 50_000_000, below: true }, 15, 0],
  ['very many were removed', { size: 50_000_000, below: false }, 65_536, 1],
])('of rows that go anywhere, where %s', async (_, tablesHave, rows, compactions) => {
  const { asked, tables } = fakeTables(tablesHave)
  const reclaimer = new SpaceReclaimer(tables, { queues: {}, others: [space('r')] })
  for (let i = 0; i < rows; i++) {
    // The rows are removed in any order.
    reclaimer.removed(key((i * 7) % rows))
    if (i % 16 === 15) reclaimer.written()
    if (i % 1_024 === 0) await settled()
  }
  reclaimer.written()
  await settled()
  expect(asked.length).toBe(compactions)
})

test('after 32 MB in the midst of other rows were removed their tables are freed, and a start finds the other rows', {
  timeout: 60_000,
}, async () => {
  const dir = join(folders.make(), 'state')
  const storage = classicLevelStorage(dir)
  await (await storage.build()).commit()
  const store = (await storage.open()) as RowStore
  const data = (i: number) => Buffer.from(`d${String(i).padStart(8, '0')}`)
  // The values of one block share no bytes: if the values compressed well, too little space would be left to free.
  const random = seededRandom('rows')
  const noise = Buffer.from(Array.from({ length: 61_000 }, () => random.next() & 255))
  const value = (i: number) => {
    const start = (i * 1_000) % 60_000
    return withChecksum(data(i), Buffer.concat([data(i), noise.subarray(start, start + 1_000)]))
  }
  const each = async (from: number, to: number, change: (i: number) => RowChange) => {
    for (let i = from; i < to; i += 1_000)
      await store.write(Array.from({ length: 1_000 }, (_, n) => change(i + n)))
  }
  await each(0, 40_000, (i) => ({ key: data(i), value: value(i) }))
  const full = bytesIn(join(dir, 'rows-1'))
  await each(4_000, 36_000, (i) => ({ key: data(i), value: undefined }))
  await expect
    .poll(() => bytesIn(join(dir, 'rows-1')), { timeout: 30_000, interval: 100 })
    .toBeLessThan(full / 2)
  await store.compact()
  await store.close()
  expect(bytesIn(join(dir, 'rows-1'))).toBeLessThan(full / 3)
  const again = (await storage.open()) as RowStore
  expect([
    again.get(data(3_999)) !== undefined,
    again.get(data(4_000)),
    again.get(data(36_000)) !== undefined,
  ]).toEqual([true, undefined, true])
  await again.close()
})
