// Driver: keeps rows in an abstract-level database: in classic-level on a disk, or in memory-level. Every
// write is one synced batch.

import { compareBytes, EMPTY, keyAfter, nextTurn } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { type BatchRows, bytesOf } from './lost-batch-detection.js'
import type { SpaceReclaimer, Tables } from './disk-space-reclaimer.js'
import type { RowKeys } from './compact-list-of-keys.js'
import { wholeValue } from './join-parts-of-row-value.js'
import type { Row, RowChange, RowPage, RowRange, RowStore, RowView } from './row-store-interface.js'
import { type LevelFigures, levelFigures } from './leveldb-stats-parser.js'
import { damagedRow } from './stored-row-checksum.js'

/** The part of abstract-level that this file uses, with the encoding 'view'. */
export interface Level {
  getSync(key: Uint8Array): Uint8Array | undefined
  batch(operations: Operation[], options: { sync: boolean }): Promise<void>
  /**
   * Begins a chained batch, which passes each operation to LevelDB immediately. A put in a chained batch
   * costs 5 µs of CPU. A put in a list of operations costs 13 µs, because the list is copied first.
   */
  batch(): LevelBatch
  snapshot(): LevelSnapshot
  iterator(options: LevelRange): LevelIterator
  compactRange?(start: Uint8Array, end: Uint8Array): Promise<void>
  approximateSize?(start: Uint8Array, end: Uint8Array): Promise<number>
  getProperty?(name: string): string
  close(): Promise<void>
}
interface LevelBatch {
  put(key: Uint8Array, value: Uint8Array): unknown
  del(key: Uint8Array): unknown
  write(options: { sync: boolean }): Promise<void>
  close(): Promise<void>
}
interface LevelSnapshot {
  close(): Promise<void>
}
interface LevelIterator {
  nextv(count: number): Promise<[Uint8Array, Uint8Array | undefined][]>
  close(): Promise<void>
}
interface LevelRange {
  gte: Uint8Array
  lt?: Uint8Array
  reverse?: boolean
  values?: boolean
  snapshot?: LevelSnapshot
  highWaterMarkBytes?: number
}
type Operation = { type: 'put'; key: Uint8Array; value: Uint8Array } | { type: 'del'; key: Uint8Array }

/** The lowest key that rows may have. Lower keys are reserved for the code that writes the disk. */
const FIRST_KEY: Uint8Array = Uint8Array.of(1)

/** A key above all keys of rows, which begin with a letter. */
const BEHIND_ALL: Uint8Array = Uint8Array.of(0xff)

export const tablesOfLevel = (level: Level): Tables => ({
  compact: async (start, end) => level.compactRange?.(start, end),
  size: async (start, end) => (await level.approximateSize?.(start, end)) ?? 0,
  isBelow: async (bytes, start, end) => {
    const iterator = level.iterator({ gte: start, lt: keyAfter(end), highWaterMarkBytes: MOST_READ_AHEAD })
    try {
      let size = 0
      for (;;) {
        const rows = await iterator.nextv(1_000)
        if (rows.length === 0) return true
        for (const [key, value = EMPTY] of rows) size += key.length + value.length
        if (size >= bytes) return false
      }
    } finally {
      await iterator.close()
    }
  },
})

export function operation(change: RowChange): Operation {
  const { key } = change
  const value = wholeValue(change)
  return value === undefined ? { type: 'del', key } : { type: 'put', key, value }
}

export class LevelRows implements RowStore {
  readonly #level: Level
  readonly #batchRows: BatchRows | undefined
  readonly #reclaimer: SpaceReclaimer | undefined
  #closed = false

  /** `level` must be open and have the encoding 'view'. */
  constructor(level: Level, batchRows?: BatchRows, reclaimer?: SpaceReclaimer) {
    this.#level = level
    this.#batchRows = batchRows
    this.#reclaimer = reclaimer
  }

  get(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#level.getSync(key)
    } catch (error) {
      throw translated(error, key)
    }
  }

  async write(batch: readonly RowChange[]): Promise<void> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    try {
      await this.#writeBatch(batch)
      this.#reclaim(batch)
    } catch (error) {
      throw translated(error)
    }
  }

  #reclaim(batch: readonly RowChange[]): void {
    if (this.#reclaimer === undefined || this.#closed) return
    for (const { key, value } of batch) if (value === undefined) this.#reclaimer.removed(key)
    this.#reclaimer.written()
  }

  /**
   * Writes all changes in one batch. The event loop runs after every 5,000 rows that are added to the batch.
   */
  async #writeBatch(batch: readonly RowChange[]): Promise<void> {
    const filled = this.#level.batch()
    let [bytes, count] = [0, 0]
    try {
      for (const change of batch) {
        bytes += add(filled, change)
        if (change.others !== undefined) bytes += await this.#removeAll(filled, change.others)
        if (++count % SLICE === 0) await turnOver()
      }
      for (const row of this.#batchRows?.next(bytes) ?? []) add(filled, row)
      await filled.write(SYNC)
    } finally {
      await filled.close()
    }
  }

  async #removeAll(filled: LevelBatch, keys: RowKeys): Promise<number> {
    let [bytes, count] = [0, 0]
    for (const key of keys) {
      filled.del(key)
      this.#reclaimer?.removed(key)
      bytes += bytesOf({ key, value: undefined })
      if (++count % SLICE === 0) await turnOver()
    }
    return bytes
  }

  levelFigures(): LevelFigures | undefined {
    const text = this.#closed ? undefined : this.#level.getProperty?.('leveldb.stats')
    return text === undefined ? undefined : levelFigures(text)
  }

  view(): RowView {
    return new LevelView(this.#level, this.#level.snapshot())
  }

  async compact(): Promise<void> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    try {
      await this.#level.compactRange?.(FIRST_KEY, BEHIND_ALL)
    } catch (error) {
      throw translated(error)
    }
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#level.close()
  }
}

const SYNC = { sync: true }
/** The most rows that are added to a batch in one turn of the event loop. */
const SLICE = 5_000

/**
 * Adds a change to the batch, except the removals of `change.others`, which `#removeAll` adds. Returns how
 * many bytes were added.
 */
function add(filled: LevelBatch, change: RowChange): number {
  const value = wholeValue(change)
  if (value === undefined) filled.del(change.key)
  else filled.put(change.key, value)
  return bytesOf(change)
}

const turnOver = (): Promise<void> => new Promise((resolve) => nextTurn(resolve))

/**
 * An iterator that stays open after a page, for the next page. `ahead` has the rows that the iterator has
 * read beyond the last page.
 */
interface OpenIterator {
  readonly iterator: LevelIterator
  readonly range: RowRange
  last: Uint8Array
  ahead: readonly LevelRow[]
}
type LevelRow = readonly [key: Uint8Array, value: Uint8Array | undefined]

class LevelView implements RowView {
  readonly #level: Level
  readonly #snapshot: LevelSnapshot
  /**
   * The iterator of the last page. If the next page begins where the last page ended, the iterator need not
   * search through LevelDB's tables again.
   */
  #kept: OpenIterator | undefined
  #closed = false

  constructor(level: Level, snapshot: LevelSnapshot) {
    this.#level = level
    this.#snapshot = snapshot
  }

  async page(range: RowRange, rows: number, bytes: number): Promise<RowPage> {
    const open = this.#takeKept(range) ?? this.#begin(range, bytes)
    try {
      const page = await gather(open, rows, bytes)
      const last = page.rows.at(-1)
      if (page.end || last === undefined || this.#closed) await open.iterator.close()
      else this.#keepOpen({ ...open, last: last.key })
      return page
    } catch (error) {
      await open.iterator.close().catch(() => {})
      throw translated(error)
    }
  }

  #begin(range: RowRange, bytes: number): OpenIterator {
    const { start, end, reverse, keysOnly } = range
    const options = {
      gte: start ?? FIRST_KEY,
      ...(end === undefined ? {} : { lt: end }),
      reverse: reverse === true,
      values: keysOnly !== true,
      snapshot: this.#snapshot,
      highWaterMarkBytes: Math.min(bytes, MOST_READ_AHEAD),
    }
    try {
      return { iterator: this.#level.iterator(options), range, last: EMPTY, ahead: [] }
    } catch (error) {
      throw translated(error)
    }
  }

  /** Returns the kept iterator if this page begins where the last page ended, else undefined. */
  #takeKept(range: RowRange): OpenIterator | undefined {
    const open = this.#kept
    if (open === undefined || !follows(open, range)) return undefined
    this.#kept = undefined
    return open
  }

  #keepOpen(open: OpenIterator): void {
    this.#kept?.iterator.close().catch(() => {})
    this.#kept = open
  }

  close(): void {
    this.#closed = true
    this.#kept?.iterator.close().catch(() => {})
    this.#kept = undefined
    this.#snapshot.close().catch(() => {})
  }
}

/**
 * Returns true if `next` is the rest of the range after the last page. Forwards, the rest starts with the
 * first key after the last row. Backwards, the rest ends before the last row's key.
 */
function follows({ range, last }: OpenIterator, next: RowRange): boolean {
  const [from, to] = [range.reverse === true, next.reverse === true]
  if (from !== to || (range.keysOnly === true) !== (next.keysOnly === true)) return false
  if (to) return same(range.start, next.start) && same(last, next.end)
  return same(range.end, next.end) && next.start !== undefined && isBehind(next.start, last)
}

const same = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : compareBytes(a, b) === 0

/**
 * Returns true if `key` is `last` with a zero byte appended, which is the first possible key after `last`.
 */
const isBehind = (key: Uint8Array, last: Uint8Array): boolean =>
  key.length === last.length + 1 &&
  key[last.length] === 0 &&
  compareBytes(key.subarray(0, last.length), last) === 0

const MOST_READ_AHEAD = 256 * 1024

/** Reads one page. Rows that the iterator has read beyond the page stay in `ahead`. */
async function gather(from: OpenIterator, rows: number, bytes: number): Promise<RowPage> {
  const found: Row[] = []
  let size = 0
  while (found.length < rows && size < bytes) {
    const some = from.ahead.length > 0 ? from.ahead : await from.iterator.nextv(rows - found.length)
    if (some.length === 0) return { rows: found, end: true }
    let taken = 0
    for (const [key, value = EMPTY] of some) {
      if (size >= bytes || found.length >= rows) break
      found.push({ key, value })
      size += key.length + value.length
      taken++
    }
    from.ahead = some.slice(taken)
  }
  return { rows: found, end: false }
}

/** Turns an error of abstract-level into a LatchkeyError. `key` is the key of the row that was read. */
export function translated(error: unknown, key?: Uint8Array): unknown {
  if (error instanceof LatchkeyError) return error
  const code = codeOf(error)
  if (code === 'LEVEL_CORRUPTION') return key === undefined ? damagedFiles(error) : damagedRow(key, error)
  if (
    code === 'LEVEL_DATABASE_NOT_OPEN' ||
    code === 'LEVEL_ITERATOR_NOT_OPEN' ||
    code === 'LEVEL_BATCH_NOT_OPEN' ||
    code === 'LEVEL_SNAPSHOT_NOT_OPEN'
  ) {
    return new LatchkeyError('ERR_CLOSED', undefined, { cause: error })
  }
  return storageFailed('LevelDB', error)
}

export const storageFailed = (what: string, cause: unknown): LatchkeyError =>
  new LatchkeyError('ERR_STORAGE_FAILED', `${what} failed: ${messageOf(cause)}. This member stops.`, {
    cause,
  })

export function damagedFiles(cause: unknown, where = 'the state'): LatchkeyError {
  return new LatchkeyError(
    'ERR_CORRUPT',
    `LevelDB found ${where} damaged: ${messageOf(cause)}. Rebuild this member from its peers (latchkey members rebuild; where it does not start and others have the state, delete the folder that holds this store and start it again), or restore a backup.`,
    { cause },
  )
}

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined

/** Returns the message of the error, followed by the message of its cause, which is LevelDB's own message. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
