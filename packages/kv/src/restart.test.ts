// Test: a start reads only what it needs, and rows of the present format stay readable.

import { createHash } from 'node:crypto'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { OP, READ, pack } from '@latchkey/protocol'
import { afterAll, expect, test } from 'vitest'
import { META_KEY, SPACE } from './keyspaces.js'
import { classicLevelStorage } from './storage/classic-level-storage.js'
import { SimulatedRowDisk, SimulatedRowStorage } from './storage/simulated-row-store.js'
import type { RowBuilder, RowStorage, RowStore, RowView } from './storage/row-store-interface.js'
import { withChecksum } from './storage/stored-row-checksum.js'
import { Folders } from './testing/temporary-folders.js'
import { applyAll, newMachine } from './testing/apply-entries-and-hash-rows.js'
import { show } from './testing/results-as-text.js'
import { drawWorkload } from './testing/random-commands.js'
import { World, k } from './testing/state-machine-with-own-log.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

/** A disk that becomes full at that call, while the first store is built. */
class FullStorage extends SimulatedRowStorage {
  aborted = 0
  override async build(): Promise<RowBuilder> {
    const builder = await super.build()
    return {
      write: () => Promise.reject(new Error('no space left on device')),
      commit: () => builder.commit(),
      abort: () => (this.aborted++, builder.abort()),
    }
  }
}

test('D6: a first store that cannot be written is closed, so that the same process may try again', async () => {
  const storage = new FullStorage()
  await expect(newMachine(storage).open()).rejects.toThrow('no space left')
  expect(storage.aborted).toBe(1)
})

/** A disk from which no row can be read. */
class UnreadableStorage extends SimulatedRowStorage {
  closed = 0
  override async open(): Promise<RowStore | undefined> {
    const store = await super.open()
    if (store === undefined) return undefined
    const fails = () => {
      throw new Error('input/output error')
    }
    const close = () => (this.closed++, store.close())
    return { get: fails, view: fails, write: (batch) => store.write(batch), compact: fails, close }
  }
}

test('D6: a store that cannot be read at the start is closed', async () => {
  const storage = new UnreadableStorage()
  await expect(newMachine(storage).open()).rejects.toThrow('input/output error')
  expect(storage.closed).toBe(1)
})

/** Counts the rows of data that a start reads. */
class CountingStorage extends SimulatedRowStorage {
  dataRows = 0
  override async open(): Promise<RowStore | undefined> {
    const store = await super.open()
    if (store === undefined) return undefined
    const count = (key: Uint8Array) => void (key[0] === SPACE.data && this.dataRows++)
    const counted = (view: RowView): RowView => ({
      close: () => view.close(),
      page: async (range, rows, bytes) => {
        const page = await view.page(range, rows, bytes)
        for (const { key } of page.rows) count(key)
        return page
      },
    })
    return {
      get: (key) => (count(key), store.get(key)),
      write: (batch) => store.write(batch),
      view: () => counted(store.view()),
      compact: () => store.compact(),
      close: () => store.close(),
    }
  }
}

test('D16: a start does not read the data, however much there is', async () => {
  const storage = new CountingStorage()
  const w = await World.open({ storage })
  for (let i = 0; i < 20; i++) {
    const pairs = Array.from({ length: 500 }, (_, n) => [k(`key${i}/${n}`), k('value')] as const)
    await w.one([OP.putAll, null, pairs])
  }
  await w.machine.close()
  storage.dataRows = 0
  await w.reopen()
  expect(storage.dataRows).toBe(0)
  expect(show(w.machine.read([READ.get, k('key7/7')]))).toBe('value')
  expect(storage.dataRows).toBe(1)
})

test('D14: the times of files are ignored', async () => {
  const dir = join(folders.make(), 'state')
  const w = await World.open({ storage: classicLevelStorage(dir) })
  await w.one([OP.put, null, k('a'), k('1')])
  await w.machine.close()
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  files.forEach((name, i) => utimesSync(join(dir, name), i % 2 === 0 ? 0 : 4e9, i % 3 === 0 ? 4e9 : 1))
  expect(await w.reopen()).toBe(w.log.length)
  expect(show(w.machine.read([READ.get, k('a')]))).toBe('1')
  await w.machine.close()
})

/**
 * The same entries give the same rows, byte for byte, in every version with this format number. If a change
 * breaks this test on purpose, raise the format's number in state/meta-row.ts, and keep reading the rows of
 * the format before.
 */
test('K40: the rows of format 1', async () => {
  const disk = new SimulatedRowDisk()
  const machine = newMachine(new SimulatedRowStorage(disk))
  await machine.open()
  await applyAll(machine, drawWorkload('format 1', 120))
  await machine.flush()
  const hash = createHash('sha256')
  const store = (await new SimulatedRowStorage(disk).open()) as RowStore
  for (const key of disk.keys()) hash.update(key).update(store.get(key) as Uint8Array)
  expect(hash.digest('hex')).toMatchInlineSnapshot(
    `"d37e512ad2135b59ffee975e30c8c47788c4c024fec292b39b98ee32d6a97bbb"`,
  )
})

test('K40: a store with the format of a later version is refused, and the error says what to do', async () => {
  const storage: RowStorage = new SimulatedRowStorage()
  const builder = await storage.build()
  await builder.write([{ key: META_KEY, value: withChecksum(META_KEY, pack([2, 'whatever comes'])) }])
  await builder.commit()
  await expect(newMachine(storage).open()).rejects.toThrow('format 2, this version reads 1')
})
