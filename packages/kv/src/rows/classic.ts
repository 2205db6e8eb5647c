// Driver: the rows of a member on a disk: classic-level in a numbered folder.
//
//   <dir>/rows-1            the live store: the highest number without a suffix
//   <dir>/rows-2.building   a store under way; of a crash, when found at open
//
// A store is built beside the live one, closed, synced, and gets its name by one rename: before it a start finds the old store,
// after it the new one, and what is left of the other is removed (S4). LevelDB is never asked to create a store at open: where
// it lost its CURRENT it would make an empty one of it.

import { open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LatchkeyError } from '@latchkey/protocol'
import { BatchChain, LOG_BYTES, MARKS } from './chain.js'
import { type Files, nodeFiles, sizeOf, syncFolder } from './files.js'
import { type Level, LevelRows, codeOf, damagedFiles, messageOf, operation, translated } from './level.js'
import type { Row, RowBuilder, RowChange, RowHome, RowStore } from './port.js'
import { tableDamage } from './tables.js'

const STORE = /^rows-([1-9][0-9]*)$/
const BUILDING = '.building'

/** Few and small: the member as a whole has a memory to keep to. */
const OPTIONS = {
  keyEncoding: 'view',
  valueEncoding: 'view',
  // Tables can be checked block by block (tables.ts), and reads are cheaper.
  compression: false,
  cacheSize: 8 * 1024 * 1024,
  writeBufferSize: LOG_BYTES,
  // Tables are mapped while they are open: LevelDB keeps 64 at the least, so at most 128 MiB of them are.
  maxFileSize: 2 * 1024 * 1024,
  maxOpenFiles: 64,
} as const

/** `dir`: a folder of its own, made when it is not there. */
export function classicHome(dir: string, files: Files = nodeFiles): RowHome {
  return new ClassicHome(dir, files)
}

class ClassicHome implements RowHome {
  readonly #dir: string
  readonly #files: Files
  /** The number of the store that was opened or committed last. */
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
    return new ClassicBuilder(this.#dir, path, level, this.#files)
  }

  async sweep(): Promise<void> {
    for (const number of await this.#numbers()) {
      if (number < this.#live) await this.#files.remove(this.#path(number))
    }
  }

  async discard(): Promise<void> {
    // Highest last: as long as one is left, what a crash leaves behind is the state that was live.
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
  readonly #files: Files
  readonly #chain = new BatchChain()

  constructor(dir: string, path: string, level: Level, files: Files) {
    this.#dir = dir
    this.#path = path
    this.#level = level
    this.#files = files
  }

  /** Not synced one by one: `commit` syncs every file before the store gets its name. */
  async write(batch: readonly RowChange[]): Promise<void> {
    const operations = [...batch, ...this.#chain.next(batch)].map(operation)
    await this.#level.batch(operations, { sync: false }).catch((error: unknown) => {
      throw translated(error)
    })
  }

  async commit(): Promise<void> {
    await this.#level.close()
    await syncFolder(this.#files, this.#path + BUILDING)
    await this.#files.rename(this.#path + BUILDING, this.#path)
    await this.#files.sync(this.#dir)
  }

  async abort(): Promise<void> {
    await this.#level.close()
    await this.#files.remove(this.#path + BUILDING)
  }
}

/** Loaded only here: a store in memory, or a client, needs no native module. */
async function openLevel(path: string, create: boolean): Promise<Level> {
  const { ClassicLevel } = await import('classic-level')
  const level = new ClassicLevel<Uint8Array, Uint8Array>(path, { ...OPTIONS, createIfMissing: create })
  try {
    await level.open()
  } catch (error) {
    throw openFailed(error, path)
  }
  return level
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
  const damaged = await damagedTables(path)
  const level = await openLevel(path, false)
  try {
    refuseDamaged(level, damaged, path)
    return new LevelRows(level, BatchChain.from(await marksOf(level)))
  } catch (error) {
    await level.close()
    throw translated(error)
  }
}

/** Every table that fails its check, with the reason: damaged, or half written when the member died and not in use. */
async function damagedTables(path: string): Promise<Map<string, string>> {
  const damaged = new Map<string, string>()
  for (const name of await nodeFiles.list(path)) {
    if (!name.endsWith('.ldb') && !name.endsWith('.sst')) continue
    const reason = await checkTable(join(path, name))
    if (reason !== null) damaged.set(name, reason)
  }
  return damaged
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

/** What LevelDB did not remove at open is in use. */
function refuseDamaged(level: Level, damaged: ReadonlyMap<string, string>, path: string): void {
  if (damaged.size === 0) return
  const inUse = propertyOf(level, 'leveldb.sstables')
  for (const [name, reason] of damaged) {
    const number = Number.parseInt(name, 10)
    if (!new RegExp(`^ ${number}:`, 'm').test(inUse)) continue
    throw new LatchkeyError(
      'ERR_CORRUPT',
      `${name} in ${path} is damaged: ${reason}. Rebuild this member from its peers (latchkey members rebuild), or restore a backup.`,
    )
  }
}

function propertyOf(level: Level, name: string): string {
  return 'getProperty' in level && typeof level.getProperty === 'function'
    ? String(level.getProperty(name))
    : ''
}

async function marksOf(level: Level): Promise<Row[]> {
  const iterator = level.iterator({ gte: MARKS.start, lt: MARKS.end })
  const marks: Row[] = []
  try {
    for (;;) {
      const some = await iterator.nextv(10_000)
      if (some.length === 0) return marks
      for (const [key, value] of some) marks.push({ key, value: value as Uint8Array })
    }
  } finally {
    await iterator.close()
  }
}
