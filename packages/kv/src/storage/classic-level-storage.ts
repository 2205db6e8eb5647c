// Driver: keeps the rows of a member on a disk, in numbered folders. Each folder is one store: a LevelDB
// database (classic-level) and the event log.
//
//   <dir>/rows-1            the live store: the highest number without a suffix
//   <dir>/rows-2.building   a store that is being built; if a start finds it, a crash has left it behind
//
// The member builds a new store beside the live store, syncs and closes it. Then one rename gives the new
// store its name. A start before the rename finds the old store. A start after the rename finds the new
// store, and removes the old store (S4).
//
// LevelDB may not create a database when the member opens a store. Otherwise a lost CURRENT file would make
// LevelDB create an empty database, and the member would have lost its state without an error.

import { open as openFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LatchkeyError } from '@latchkey/protocol'
import { SPACE } from '../keyspaces.js'
import { BatchRows, bytesOf, LOG_BYTES, BATCH_ROWS } from './lost-batch-detection.js'
import { type Files, nodeFiles, sizeOf, syncFolder } from './file-operations.js'
import { EventLog } from './event-log.js'
import { decodeValidEnd, encodeValidEnd, VALID_END_KEY } from './event-log-file-format.js'
import { RowsWithEventLog, split } from './level-and-event-log-row-store.js'
import {
  type Level,
  LevelRows,
  codeOf,
  damagedFiles,
  messageOf,
  operation,
  tablesOfLevel,
  translated,
} from './abstract-level-row-store.js'
import { damageIn, tablesOf } from './leveldb-check/manifest.js'
import type { Row, RowBuilder, RowChange, RowStorage, RowStore } from './row-store-interface.js'
import { SpaceReclaimer } from './disk-space-reclaimer.js'
import { tableDamage } from './leveldb-check/tables.js'

const STORE = /^rows-([1-9][0-9]*)$/
const BUILDING = '.building'

/**
 * The options keep two costs low: the memory of the member, and the time of random reads and writes with many
 * rows. Both costs grow with the bytes of the tables, so rows are compressed:
 * - LevelDB maps each open table into memory. Opening a table costs ten reads, so up to 144 tables of 1 MiB
 *   stay open.
 * - A read that has to search several tables makes LevelDB merge tables sooner. Under random reads and writes
 *   LevelDB merges all tables with each written memtable, so half the bytes make half the work.
 *
 * LevelDB decompresses a whole block to read one row, so blocks are small. LevelDB has no block cache,
 * because row-cache.ts already has the rows that are read again.
 */
const OPTIONS = {
  keyEncoding: 'view',
  valueEncoding: 'view',
  compression: true,
  cacheSize: 0,
  writeBufferSize: LOG_BYTES,
  blockSize: 4 * 1024,
  maxFileSize: 1024 * 1024,
  // The limit of open files. LevelDB uses ten of them for files that are not tables. LevelDB's table cache
  // splits the other 144 into sixteen parts with room for nine tables each. A hash of the table's number
  // chooses the part. When each part had room for only seven tables, some parts were full although the store
  // had only 60 tables, and a get took 1.5 times as long.
  maxOpenFiles: 154,
} as const

/**
 * The kinds of rows whose disk space is reclaimed:
 * - `queues`: rows that are removed about in the order of their insertion, which are the kept replies of
 *   sessions and the index of expiring keys. The number says after how many removed rows a compaction starts.
 *   Each of these rows has about a hundred bytes.
 * - `others`: rows that are removed in any order.
 */
const RECLAIMED = { queues: { [SPACE.replies]: 65_536, [SPACE.expiry]: 65_536 }, others: [SPACE.data] }

/**
 * A storage on a disk. No other storage may use the folder `dir`. The method `build` creates the folder if it
 * does not exist.
 */
export function classicLevelStorage(dir: string, files: Files = nodeFiles): RowStorage {
  return new ClassicStorage(dir, files)
}

class ClassicStorage implements RowStorage {
  readonly #dir: string
  readonly #files: Files
  #live = 0

  constructor(dir: string, files: Files) {
    this.#dir = dir
    this.#files = files
  }

  async open(): Promise<RowStore | undefined> {
    const live = await this.#highest()
    await this.#removeBuilding()
    if (live === 0) return undefined
    const first = this.#live === 0
    this.#live = live
    if (first) await this.sweep()
    return await openStore(this.#path(live))
  }

  #path(number: number): string {
    return join(this.#dir, `rows-${number}`)
  }

  async #numbers(): Promise<number[]> {
    const names = await this.#files.list(this.#dir)
    return names.map((name) => Number(STORE.exec(name)?.[1] ?? 0)).filter((number) => number > 0)
  }

  async #highest(): Promise<number> {
    return Math.max(0, ...(await this.#numbers()))
  }

  async #removeBuilding(): Promise<void> {
    for (const name of await this.#files.list(this.#dir)) {
      if (name.endsWith(BUILDING)) await this.#files.remove(join(this.#dir, name))
    }
  }

  async build(): Promise<RowBuilder> {
    await this.#files.make(this.#dir)
    await this.#removeBuilding()
    const path = this.#path((await this.#highest()) + 1)
    const level = await openLevel(path + BUILDING, true)
    try {
      const eventLog = await EventLog.create(path + BUILDING)
      return new ClassicBuilder(this.#dir, path, { level, eventLog }, this.#files)
    } catch (error) {
      await level.close()
      throw error
    }
  }

  async sweep(): Promise<void> {
    for (const number of await this.#numbers()) {
      if (number < this.#live) await this.#files.remove(this.#path(number))
    }
  }

  async discard(): Promise<void> {
    // The live store, which has the highest number, is removed last. So a start after a crash still finds
    // this store.
    for (const number of (await this.#numbers()).sort((a, b) => a - b))
      await this.#files.remove(this.#path(number))
    await this.#removeBuilding()
    this.#live = 0
  }
}

class ClassicBuilder implements RowBuilder {
  readonly #dir: string
  readonly #path: string
  readonly #level: Level
  readonly #eventLog: EventLog
  readonly #files: Files
  readonly #batchRows = new BatchRows()

  constructor(dir: string, path: string, parts: { level: Level; eventLog: EventLog }, files: Files) {
    this.#dir = dir
    this.#path = path
    this.#level = parts.level
    this.#eventLog = parts.eventLog
    this.#files = files
  }

  /** Writes a batch without a sync. `commit` syncs every file before it gives the store its name. */
  async write(batch: readonly RowChange[]): Promise<void> {
    const { withEventLog, others } = split(batch)
    const bytes = others.reduce((sum, change) => sum + bytesOf(change), 0)
    const operations = [...others, ...this.#batchRows.next(bytes)].map(operation)
    try {
      await this.#level.batch(operations, { sync: false })
      if (withEventLog.length > 0) await this.#eventLog.append(withEventLog, false)
      await this.#eventLog.written()
    } catch (error) {
      throw translated(error)
    }
  }

  async commit(): Promise<void> {
    try {
      await this.#level.batch([operation(encodeValidEnd(this.#eventLog.validEnd))], { sync: false })
    } catch (error) {
      await this.#close().catch(() => {})
      throw translated(error)
    }
    await this.#close()
    await syncFolder(this.#files, this.#path + BUILDING)
    await this.#files.rename(this.#path + BUILDING, this.#path)
    await this.#files.sync(this.#dir)
  }

  async #close(): Promise<void> {
    try {
      await this.#level.close()
    } finally {
      await this.#eventLog.close()
    }
  }

  async abort(): Promise<void> {
    await this.#close()
    await this.#files.remove(this.#path + BUILDING)
  }
}

/**
 * Opens a LevelDB database, or creates it if `create` is true. The native module is loaded here, because a
 * store in memory and a client do not need it.
 */
async function openLevel(path: string, create: boolean): Promise<Level> {
  const { ClassicLevel } = await import('classic-level')
  const level = new ClassicLevel<Uint8Array, Uint8Array>(path, { ...OPTIONS, createIfMissing: create })
  try {
    await level.open()
  } catch (error) {
    throw openFailed(error, (await damagedFile(path, error)) ?? path)
  }
  return level
}

/**
 * Returns the name of the damaged file and what is wrong with it, for an error message. LevelDB seldom names
 * the file. CURRENT and the manifest are checked here. Returns undefined if neither is damaged.
 */
async function damagedFile(path: string, error: unknown): Promise<string | undefined> {
  const current = await readFile(join(path, 'CURRENT'), 'latin1').catch(() => undefined)
  if (current === undefined) return `CURRENT in ${path}, which is missing,`
  const name = /^(MANIFEST-[0-9]+)\n$/.exec(current)?.[1]
  if (name === undefined) return `CURRENT in ${path} at offset 0`
  const manifest = await readFile(join(path, name)).catch(() => undefined)
  if (manifest === undefined) return `${name} in ${path}, which CURRENT names and which is missing,`
  if (tablesOf(manifest) === undefined) return `${name} in ${path} at offset ${damageIn(manifest) ?? 0}`
  // All records of the manifest are correct. If LevelDB still complains of its descriptor, which is the
  // manifest, then records at the end of the manifest are missing.
  return /descriptor/.test(messageOf(error)) ? `${name} in ${path} at offset ${manifest.length}` : undefined
}

function openFailed(error: unknown, path: string): unknown {
  const cause = error instanceof Error ? error.cause : undefined
  if (codeOf(cause) === 'LEVEL_LOCKED')
    return new LatchkeyError('ERR_DIR_LOCKED', undefined, { cause: error })
  if (/no space|too many open files|permission denied/i.test(messageOf(error))) {
    return new LatchkeyError('ERR_STORAGE_FAILED', `The state cannot be opened: ${messageOf(error)}.`, {
      cause: error,
    })
  }
  return damagedFiles(error, path)
}

async function openStore(path: string): Promise<RowStore> {
  await refuseDamaged(path)
  const level = await openLevel(path, false)
  try {
    const reclaimer = new SpaceReclaimer(tablesOfLevel(level), RECLAIMED)
    const rows = new LevelRows(level, BatchRows.from(await batchRowsOf(level)), reclaimer)
    return new RowsWithEventLog(rows, await openEventLog(path, level))
  } catch (error) {
    await level.close()
    throw translated(error)
  }
}

/**
 * A row of LevelDB stores the end of the durable part of the event log. So a start notices if bytes of the
 * event log are lost.
 */
function openEventLog(path: string, level: Level): Promise<EventLog> {
  const validEnd = level.getSync(VALID_END_KEY)
  if (validEnd === undefined)
    throw damagedFiles(new Error('it does not say how far its event log counts'), path)
  return EventLog.open(path, decodeValidEnd(validEnd))
}

/**
 * Refuses a damaged store. This check runs before LevelDB opens the store, because an open LevelDB may merge
 * damaged tables into good tables.
 */
async function refuseDamaged(path: string): Promise<void> {
  const live = await tablesInUse(path)
  for (const name of await nodeFiles.list(path)) {
    if (!name.endsWith('.ldb') && !name.endsWith('.sst')) continue
    if (live?.has(Number.parseInt(name, 10)) === false) continue
    const reason = await checkTable(join(path, name))
    if (reason === null) continue
    throw new LatchkeyError(
      'ERR_CORRUPT',
      `${name} in ${path} is damaged: ${reason}. Rebuild this member from its peers (latchkey members rebuild; where it does not start and others have the state, delete the folder that holds this store and start it again), or restore a backup.`,
    )
  }
}

/**
 * Returns the numbers of the tables in use, or undefined if the manifest cannot be read. The caller then
 * checks all tables, and LevelDB reports the damaged manifest.
 */
async function tablesInUse(path: string): Promise<ReadonlySet<number> | undefined> {
  try {
    const current = await readFile(join(path, 'CURRENT'), 'latin1')
    return tablesOf(await readFile(join(path, current.trim())))
  } catch {
    return undefined
  }
}

async function checkTable(path: string): Promise<string | null> {
  const handle = await openFile(path, 'r')
  try {
    const size = await sizeOf(path)
    return await tableDamage({
      size,
      read: async (at, length) => {
        const bytes = Buffer.allocUnsafe(length)
        const { bytesRead } = await handle.read(bytes, 0, length, at)
        return bytes.subarray(0, bytesRead)
      },
    })
  } finally {
    await handle.close()
  }
}

async function batchRowsOf(level: Level): Promise<Row[]> {
  const iterator = level.iterator({ gte: BATCH_ROWS.start, lt: BATCH_ROWS.end })
  const rows: Row[] = []
  try {
    for (;;) {
      const some = await iterator.nextv(10_000)
      if (some.length === 0) return rows
      for (const [key, value] of some) rows.push({ key, value: value as Uint8Array })
    }
  } finally {
    await iterator.close()
  }
}
