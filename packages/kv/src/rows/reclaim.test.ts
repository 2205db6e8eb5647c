// Test: a store whose rows come at one end and go at the other stays small on the disk.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Folders } from '../testing/folders.js'
import { classicHome } from './classic.js'
import type { RowChange, RowStore } from './port.js'
import { type Compact, Reclaimer } from './reclaim.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

const key = (i: number) => Buffer.from(`r${String(i).padStart(8, '0')}`)
const VALUE = Buffer.alloc(400, 7)
const ROWS = 320_000
const KEPT = 10_000
const PER_BATCH = 5_000

const bytesIn = (dir: string): number =>
  readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0)

test('its tables do not pile up: 130 MB came and went, 4 MB are kept', { timeout: 60_000 }, async () => {
  const dir = join(folders.make(), 'state')
  const home = classicHome(dir)
  await (await home.build()).commit()
  const store = (await home.open()) as RowStore
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

test('one compaction at a time, of what was removed so far; a failed one is no more than that', async () => {
  const asked: string[] = []
  let end: (() => void) | undefined
  const compact: Compact = (start, last) => {
    asked.push(Buffer.concat([start, Buffer.from('..'), last]).toString())
    return new Promise((_, reject) => {
      end = () => reject(new Error('the disk'))
    })
  }
  const reclaimer = new Reclaimer(compact, { ['r'.charCodeAt(0)]: 3 })
  const remove = (...numbers: number[]) => {
    for (const i of numbers) reclaimer.removed(key(i))
    reclaimer.removed(Buffer.from('d-not-a-queue'))
    reclaimer.written()
  }
  remove(1, 2)
  expect(asked).toEqual([])
  remove(3)
  expect(asked).toEqual(['r..r00000003'])
  remove(4, 5, 6)
  expect(asked).toHaveLength(1)
  end?.()
  await Promise.resolve()
  await Promise.resolve()
  remove(7)
  expect(asked).toEqual(['r..r00000003', 'r..r00000007'])
})
