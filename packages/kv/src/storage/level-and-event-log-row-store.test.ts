// Test: a batch is written to the event log before LevelDB (J1), and a failure of the disk between the two
// leaves a valid state (RW6).

import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { Folders } from '../testing/temporary-folders.js'
import { EventLogFile } from './event-log-file.js'
import { EventLog } from './event-log.js'
import { RowsWithEventLog } from './level-and-event-log-row-store.js'
import type { RowStore } from './row-store-interface.js'

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
  const eventLog = await EventLog.create(folders.make())
  const { write, sync } = EventLogFile.prototype
  vi.spyOn(EventLogFile.prototype, 'write').mockImplementation(async function (
    this: EventLogFile,
    bytes,
    at,
  ) {
    await write.call(this, bytes, at)
    steps.push('event log written')
  })
  vi.spyOn(EventLogFile.prototype, 'sync').mockImplementation(async function (this: EventLogFile) {
    await sync.call(this)
    steps.push('event log synced')
  })
  return { steps, rows: new RowsWithEventLog(level, eventLog), level }
}

test('J1: the event log is on the disk before LevelDB gets the valid end', async () => {
  const { steps, rows } = await parts()
  await rows.write(BATCH)
  expect(steps).toEqual(['event log written', 'event log synced', 'level d1,\0j'])
  expect(rows.get(Buffer.from('e1'))?.toString()).toBe('event')
  await rows.close()
})

test('a batch without events does not write to the event log', async () => {
  const { steps, rows } = await parts()
  await rows.write(BATCH.slice(1))
  expect(steps).toEqual(['level d1'])
  await rows.close()
})

test('RW6: after a failure of either part the store takes no more writes, and nothing of the batch is in use', async () => {
  for (const which of ['journal', 'level']) {
    const { steps, rows, level } = await parts()
    const failure = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    if (which === 'journal') vi.spyOn(EventLogFile.prototype, 'sync').mockRejectedValue(failure)
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

// Without this: a snapshot of many events and many rows reads twice as much into memory as its pieces may have.
test('the rows and the bytes of a page count over both parts', async () => {
  const { rows, level } = await parts()
  await rows.write(['e1', 'e2', 'e3'].map((name) => ({ key: Buffer.from(name), value: Buffer.alloc(48) })))
  const asked: number[][] = []
  const data = { key: Buffer.from('d1'), value: Buffer.alloc(98) }
  vi.spyOn(level, 'view').mockImplementation(() => ({
    page: async ({ end }, count, bytes) => {
      asked.push([count, bytes])
      return { rows: end === undefined ? [] : [data], end: true }
    },
    get: () => undefined,
    close: () => {},
  }))
  const page = async (count: number, bytes: number) => {
    const view = rows.view()
    const { rows: found, end } = await view.page({ start: undefined, end: undefined }, count, bytes)
    view.close()
    return [found.map(({ key }) => Buffer.from(key).toString()).join(' '), end]
  }
  expect(await page(10, 130)).toEqual(['d1 e1', false])
  expect(await page(10, 151)).toEqual(['d1 e1 e2', false])
  expect(await page(3, 1_000)).toEqual(['d1 e1 e2', false])
  expect(await page(1, 1_000)).toEqual(['d1', false])
  expect(await page(10, 50)).toEqual(['d1', false])
  await rows.close()
})
