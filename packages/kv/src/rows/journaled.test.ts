// Test: the order in which a batch reaches its two places (J1), and what is left of a store whose disk failed in between (RW6).

import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { Folders } from '../testing/folders.js'
import { JournalFile } from './journal-file.js'
import { Journal } from './journal.js'
import { JournaledRows } from './journaled.js'
import type { RowStore } from './port.js'

const folders = new Folders()
afterAll(() => folders.removeAll())
afterEach(() => vi.restoreAllMocks())

const BATCH = [
  { key: Buffer.from('e1'), value: Buffer.from('event') },
  { key: Buffer.from('d1'), value: Buffer.from('data') },
]

async function parts() {
  const steps: string[] = []
  const level: RowStore = {
    get: () => undefined,
    write: async (batch) =>
      void steps.push(`level ${batch.map(({ key }) => Buffer.from(key).toString()).join()}`),
    view: () => ({ page: async () => ({ rows: [], end: true }), close: () => {} }),
    compact: async () => {},
    close: async () => {},
  }
  const journal = await Journal.create(folders.make())
  const { write, sync } = JournalFile.prototype
  vi.spyOn(JournalFile.prototype, 'write').mockImplementation(async function (this: JournalFile, bytes, at) {
    await write.call(this, bytes, at)
    steps.push('journal written')
  })
  vi.spyOn(JournalFile.prototype, 'sync').mockImplementation(async function (this: JournalFile) {
    await sync.call(this)
    steps.push('journal synced')
  })
  return { steps, rows: new JournaledRows(level, journal), level }
}

test('J1: the journal is on the disk before LevelDB is told of it', async () => {
  const { steps, rows } = await parts()
  await rows.write(BATCH)
  expect(steps).toEqual(['journal written', 'journal synced', 'level d1,\0j'])
  expect(rows.get(Buffer.from('e1'))?.toString()).toBe('event')
  await rows.close()
})

test('a batch without events leaves the journal alone', async () => {
  const { steps, rows } = await parts()
  await rows.write(BATCH.slice(1))
  expect(steps).toEqual(['level d1'])
  await rows.close()
})

test('RW6: where either fails the store takes no more, and nothing of the batch is in use', async () => {
  for (const which of ['journal', 'level']) {
    const { steps, rows, level } = await parts()
    const failure = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    if (which === 'journal') vi.spyOn(JournalFile.prototype, 'sync').mockRejectedValue(failure)
    else vi.spyOn(level, 'write').mockRejectedValue(failure)
    const refused = { code: 'ERR_STORAGE_FAILED', message: expect.stringContaining('no space left') }
    await expect(rows.write(BATCH)).rejects.toMatchObject(refused)
    expect(steps.join()).not.toContain('level')
    expect(rows.get(Buffer.from('e1'))).toBeUndefined()
    await expect(rows.write(BATCH.slice(0, 1))).rejects.toMatchObject(refused)
    await expect(rows.write(BATCH.slice(1))).rejects.toMatchObject(refused)
    await rows.close()
    vi.restoreAllMocks()
  }
})
