// Test: if files of LevelDB are damaged, a read gives an error or the right value, never a wrong value (D18).
// Lost batches are noticed (D17).

import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '@latchkey/base'
import { isLatchkeyError } from '@latchkey/protocol'
import { ClassicLevel } from 'classic-level'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { damage } from '../testing/damage-store-files.js'
import { Folders, openBelow } from '../testing/temporary-folders.js'
import { classicLevelStorage } from './classic-level-storage.js'
import { EventLog } from './event-log.js'
import { eventLogName } from './event-log-file.js'
import { crc32c } from './leveldb-check/crc32c.js'
import { nodeFiles } from './file-operations.js'
import type { RowChange, RowStore } from './row-store-interface.js'
import { isIntact, withChecksum } from './stored-row-checksum.js'

const folders = new Folders()
afterAll(() => folders.removeAll())

const BATCHES = 40
/** Two thirds of the rows are data, one third is events. */
const key = (i: number) => Buffer.from(`${i % 3 === 0 ? 'e' : 'd'}${String(i).padStart(5, '0')}`)
const batch = (n: number): RowChange[] =>
  Array.from({ length: 25 }, (_, i) => {
    const at = (n * 13 + i) % 600
    return { key: key(at), value: withChecksum(key(at), Buffer.from(`${n}:${at}:${'x'.repeat(at % 50)}`)) }
  })

/** The rows after the first n batches: key to body. */
function model(n: number): Map<string, string> {
  const rows = new Map<string, string>()
  for (let i = 1; i <= n; i++) {
    for (const { key, value } of batch(i))
      rows.set(key.toString(), Buffer.from(value as Uint8Array).toString('latin1', 4))
  }
  return rows
}
const MODELS = Array.from({ length: BATCHES + 1 }, (_, n) =>
  JSON.stringify([...model(n)].sort(([a], [b]) => (a < b ? -1 : 1))),
)

async function write(dir: string): Promise<void> {
  const storage = classicLevelStorage(dir)
  const builder = await storage.build()
  await builder.commit()
  const store = (await storage.open()) as RowStore
  for (let n = 1; n <= BATCHES; n++) await store.write(batch(n))
  await store.close()
}

/** One image has everything in LevelDB's log, the other everything in tables. */
const images: Record<string, string> = {}
beforeAll(async () => {
  const log = join(folders.make(), 'state')
  await write(log)
  const tables = join(folders.make(), 'state')
  cpSync(log, tables, { recursive: true })
  const level = new ClassicLevel(join(tables, 'rows-1'))
  await level.open()
  await level.compactRange('\0', '\xff')
  await level.close()
  Object.assign(images, { log, tables })
})

/**
 * What a member reads from a folder: all rows whose checksums are right, or the code with which the store is
 * refused.
 */
async function readAll(dir: string): Promise<string> {
  let store: RowStore | undefined
  try {
    store = await classicLevelStorage(dir).open()
    if (store === undefined) return 'nothing'
    const view = store.view()
    const { rows } = await view.page({ start: undefined, end: undefined }, 10_000, 10_000_000)
    view.close()
    const bodies = rows.map(({ key, value }): [string, string] => {
      if (!isIntact(key, value)) throw new Error('damaged row')
      expect(Buffer.from((store as RowStore).get(key) as Uint8Array)).toEqual(Buffer.from(value))
      return [Buffer.from(key).toString(), Buffer.from(value).toString('latin1', 4)]
    })
    return JSON.stringify(bodies)
  } catch (error) {
    if (isLatchkeyError(error)) return error.code
    if (error instanceof Error && error.message === 'damaged row') return 'ERR_CORRUPT'
    throw error
  } finally {
    await store?.close()
  }
}

test('undamaged, both images are complete', async () => {
  for (const image of Object.values(images)) {
    // When LevelDB opens, it writes its log to a table.
    const copy = join(folders.make(), 'state')
    cpSync(image, copy, { recursive: true })
    expect(await readAll(copy)).toBe(MODELS[BATCHES])
  }
})

/** With LATCHKEY_FULL_SWEEP=1 ten thousand bytes are changed, which takes some minutes. */
const FLIPS = process.env['LATCHKEY_FULL_SWEEP'] === '1' ? 5_000 : 150

describe('D18, D17: a changed byte in any of the files', () => {
  test.each(['log', 'tables'])(
    '%s: an error, the whole state, or an older state as a whole',
    async (name) => {
      const random = seededRandom(`flips ${name}`)
      const copy = join(folders.make(), 'state')
      const seen = { refused: 0, whole: 0, older: 0 }
      for (let i = 0; i < FLIPS; i++) {
        cpSync(images[name] as string, copy, { recursive: true })
        const where = damage(join(copy, 'rows-1'), random)
        const found = await readAll(copy)
        rmSync(copy, { recursive: true })
        const n = MODELS.indexOf(found)
        if (found === 'ERR_CORRUPT') seen.refused++
        else if (n === BATCHES) seen.whole++
        else {
          expect(n, `${where}: ${found.slice(0, 300)}`).toBeGreaterThanOrEqual(0)
          seen.older++
        }
      }
      expect(seen.refused).toBeGreaterThan(FLIPS / 3)
      // In tables only a damaged manifest can lose the last batches.
      if (name === 'tables') expect(seen.older).toBeLessThan(FLIPS / 10)
    },
    FLIPS * 1_000,
  )
})

test('a removed table, or a removed CURRENT: ERR_CORRUPT, never an empty state', async () => {
  for (const pattern of [/\.ldb$/, /^CURRENT$/, /^MANIFEST/]) {
    const copy = join(folders.make(), 'state')
    cpSync(images['tables'] as string, copy, { recursive: true })
    const name = readdirSync(join(copy, 'rows-1')).find((one) => pattern.test(one)) as string
    rmSync(join(copy, 'rows-1', name))
    expect(await readAll(copy), name).toBe('ERR_CORRUPT')
  }
})

test('a table that a crash left half-written is not in use, so the store is not refused', async () => {
  const copy = join(folders.make(), 'state')
  cpSync(images['tables'] as string, copy, { recursive: true })
  writeFileSync(join(copy, 'rows-1', '999999.ldb'), Buffer.alloc(5_000, 7))
  expect(await readAll(copy)).toBe(MODELS[BATCHES])
})

test('the error message names the file and the offset, and says what to do', async () => {
  const copy = join(folders.make(), 'state')
  cpSync(images['tables'] as string, copy, { recursive: true })
  const name = readdirSync(join(copy, 'rows-1')).find((one) => one.endsWith('.ldb')) as string
  const bytes = readFileSync(join(copy, 'rows-1', name))
  bytes[100] = (bytes[100] as number) ^ 1
  writeFileSync(join(copy, 'rows-1', name), bytes)
  await expect(classicLevelStorage(copy).open()).rejects.toThrow(
    new RegExp(`${name}.*damaged block at 0.*members rebuild`),
  )
})

test('D13: a folder that is already open: ERR_DIR_LOCKED', async () => {
  const copy = join(folders.make(), 'state')
  cpSync(images['log'] as string, copy, { recursive: true })
  const store = (await classicLevelStorage(copy).open()) as RowStore
  await expect(classicLevelStorage(copy).open()).rejects.toMatchObject({ code: 'ERR_DIR_LOCKED' })
  await store.close()
})

test('D7: every file is synced before the store gets its name, and its folder after it', async () => {
  const steps: string[] = []
  const dir = join(folders.make(), 'state')
  const short = (path: string) => path.slice(dir.length + 1)
  const storage = classicLevelStorage(dir, {
    ...nodeFiles,
    rename: async (from, to) => {
      steps.push(`rename ${short(from)} ${short(to)}`)
      await nodeFiles.rename(from, to)
    },
    sync: async (path) => {
      steps.push(`sync ${short(path)}`)
      await nodeFiles.sync(path)
    },
  })
  const builder = await storage.build()
  await builder.write(batch(1))
  await builder.commit()
  const at = steps.indexOf('rename rows-1.building rows-1')
  const before = steps.slice(0, at)
  for (const name of ['CURRENT', 'MANIFEST']) expect(before.join()).toContain(`sync rows-1.building/${name}`)
  expect(before.join()).toMatch(/sync rows-1\.building\/[0-9]+\.log/)
  expect(before.at(-1)).toBe('sync rows-1.building')
  expect(steps.slice(at + 1)).toEqual(['sync '])
})

// Without this law: the disk becomes full while a snapshot is installed. The member frees space and asks for
// the snapshot again, but its own folder is reported as locked for ever, or after a hundred tries no file
// handle is left.
test('D7: a commit that fails leaves no file open and no folder locked, and the store can be built again', async () => {
  const dir = join(folders.make(), 'state')
  const storage = classicLevelStorage(dir)
  const first = await storage.build()
  await first.write(batch(1))
  await first.commit()
  const failing = await storage.build()
  await failing.write(batch(2))
  expect(openBelow(dir).length > 0 || process.platform !== 'linux').toBe(true)
  const full = Object.assign(new Error('IO error: no space left on device'), { code: 'LEVEL_IO_ERROR' })
  const failure = vi.spyOn(ClassicLevel.prototype, 'batch').mockRejectedValueOnce(full as never)
  await expect(failing.commit()).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
  failure.mockRestore()
  expect(openBelow(dir)).toEqual([])
  const again = await storage.build()
  await again.write(batch(3))
  await again.abort()
  expect(openBelow(dir)).toEqual([])
  expect(readdirSync(dir)).toEqual(['rows-1'])
  expect(await readAll(dir)).toBe(MODELS[1])
})

test('D7: if the event log fails while a store is built or opened, no file stays open, and the next try succeeds', async () => {
  const dir = join(folders.make(), 'state')
  const storage = classicLevelStorage(dir)
  const create = vi.spyOn(EventLog, 'create').mockRejectedValueOnce(new Error('no space'))
  await expect(storage.build()).rejects.toThrow('no space')
  create.mockRestore()
  expect(openBelow(dir)).toEqual([])
  const built = await storage.build()
  await built.write(batch(1))
  await built.commit()
  const open = vi.spyOn(EventLog, 'open').mockRejectedValueOnce(new Error('no file handle'))
  await expect(storage.open()).rejects.toMatchObject({ cause: new Error('no file handle') })
  open.mockRestore()
  expect(openBelow(dir)).toEqual([])
  // A damaged event log: the file that was read until the damage is closed too.
  const eventLog = join(dir, 'rows-1', eventLogName(1))
  const bytes = readFileSync(eventLog)
  writeFileSync(
    eventLog,
    bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)),
  )
  await expect(storage.open()).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
  expect(openBelow(dir)).toEqual([])
  writeFileSync(eventLog, bytes)
  expect(await readAll(dir)).toBe(MODELS[1])
})

test('crc32c gives the known values', () => {
  expect(crc32c(Buffer.from('123456789'), 0, 9)).toBe(0xe3069283)
  expect(crc32c(Buffer.alloc(32), 0, 32)).toBe(0x8a9136aa)
  expect(crc32c(Buffer.alloc(32, 0xff), 0, 32)).toBe(0x62a8ab43)
})

describe('D18: files that a killed compaction left half-written', () => {
  test.each(['log', 'tables'])(
    '%s: the table is not in use, whichever file gets its number at the next open',
    async (name) => {
      const copy = join(folders.make(), 'state')
      cpSync(images[name] as string, copy, { recursive: true })
      const rows = join(copy, 'rows-1')
      const numbers = readdirSync(rows).map((file) => Number(/\d+/.exec(file)?.[0] ?? 0))
      for (let next = 1; next <= 12; next++) {
        const half = `${String(Math.max(...numbers) + next).padStart(6, '0')}.ldb`
        writeFileSync(join(rows, half), Buffer.alloc(5_000, next))
      }
      expect(await readAll(copy)).toBe(MODELS[BATCHES])
      expect(await readAll(copy)).toBe(MODELS[BATCHES])
    },
  )
})
