// Driver: starts the LevelDB compactions that free disk space, for rows whose space LevelDB does not free by
// itself.
//
// If rows are removed in the order in which they were added, LevelDB moves old tables down its levels
// unchanged. LevelDB never merges these tables with the records that remove their rows. A store of ten
// megabytes grew to gigabytes, and every start had to check all its tables. Rows that are removed in any
// other order can keep their space too: LevelDB once kept all tables of 32 MB of deleted rows.
//
// Laws
// - Only one compaction runs at a time, beside the writes, and no caller waits for it.
// - A compaction changes no row. A crash during a compaction leaves tables that no manifest names.
// - If a compaction fails, LevelDB refuses further writes, and the next write reports the error.
// - A compaction runs only if it frees much space. For rows that are removed in order, it runs after a given
//   number of removed rows. For other rows, it runs after very many removed rows. It also runs for other rows
//   if the existing rows between the first and the last removed key have few bytes: less than half of the
//   bytes that the tables use there, and less than 8 MiB.

import { copyBytes } from '@latchkey/base'

export interface Tables {
  compact(start: Uint8Array, end: Uint8Array): Promise<void>
  /** About how many bytes the tables use for the keys of [start, end]. */
  size(start: Uint8Array, end: Uint8Array): Promise<number>
  /**
   * Returns true if the existing rows of [start, end] have fewer than `bytes` bytes. Stops reading after
   * about `bytes` bytes.
   */
  isBelow(bytes: number, start: Uint8Array, end: Uint8Array): Promise<boolean>
}

/** The kinds of rows whose disk space is freed. Each kind is the first byte of its rows' keys. */
interface ReclaimedSpaces {
  /**
   * For rows that are removed in the order of their insertion: the number of removed rows of a kind after
   * which a compaction runs.
   */
  readonly queues: Readonly<Record<number, number>>
  /** The kinds of rows that are removed in any order. */
  readonly others: readonly number[]
}

/**
 * After this many removed rows, the first check decides whether a compaction is worth its cost. The number is
 * doubled for each further check.
 */
const FIRST_LOOK = 16
/** In bytes. No compaction runs for a range of keys that uses less disk space. */
const LEAST_BYTES = 2 * 1024 * 1024
/** In bytes, about the most that one check reads from the tables. */
const MOST_LOOK_BYTES = 8 * 1024 * 1024
/**
 * After this many removed rows, a compaction runs even if many rows still exist between the first and the
 * last removed key.
 */
const MANY_ROWS = 65_536

class Removed {
  rows = 0
  first: Uint8Array | undefined
  last: Uint8Array | undefined
  lookAt = FIRST_LOOK

  add(key: Uint8Array): void {
    this.rows++
    if (this.first === undefined || Buffer.compare(key, this.first) < 0) this.first = key
    if (this.last === undefined || Buffer.compare(key, this.last) > 0) this.last = key
  }

  /** Copies the keys, because the caller may reuse the bytes of the batch from now on. */
  keep(): void {
    this.first = this.first && copyBytes(this.first)
    this.last = this.last && copyBytes(this.last)
  }
}

export class SpaceReclaimer {
  readonly #tables: Tables
  readonly #spaces: ReclaimedSpaces
  readonly #removed = new Map<number, Removed>()
  #busy = false

  constructor(tables: Tables, spaces: ReclaimedSpaces) {
    this.#tables = tables
    this.#spaces = spaces
    for (const space of [...Object.keys(spaces.queues).map(Number), ...spaces.others])
      this.#removed.set(space, new Removed())
  }

  removed(key: Uint8Array): void {
    this.#removed.get(key[0] as number)?.add(key)
  }

  /**
   * Starts a check or a compaction if enough rows were removed. Called after the removals are on the disk,
   * and before the caller reuses the bytes of the batch.
   */
  written(): void {
    for (const removed of this.#removed.values()) removed.keep()
    if (this.#busy) return
    for (const [space, removed] of this.#removed) {
      const worth = this.#spaces.queues[space]
      if (removed.rows < (worth ?? removed.lookAt)) continue
      // In a queue, all rows before the last removed row are removed too. So the compaction begins at the
      // first possible key of the key space.
      const work =
        worth === undefined ? this.#look(space, removed) : this.#compact(space, Uint8Array.of(space))
      return this.#alone(work)
    }
  }

  #alone(work: Promise<void>): void {
    this.#busy = true
    const done = () => {
      this.#busy = false
    }
    const again = () => {
      done()
      // Writes may have removed more rows during this compaction. If no later write comes, only this call can
      // check these removals.
      this.written()
    }
    work.then(again, done)
  }

  async #look(space: number, removed: Removed): Promise<void> {
    const { first, last, rows } = removed as { first: Uint8Array; last: Uint8Array; rows: number }
    removed.lookAt = rows < MANY_ROWS ? Math.min(rows * 2, MANY_ROWS) : rows * 2
    const size = await this.#tables.size(first, last)
    if (size < LEAST_BYTES) return
    const few = Math.min(size / 2, MOST_LOOK_BYTES)
    if (rows >= MANY_ROWS || (await this.#tables.isBelow(few, first, last))) await this.#compact(space, first)
  }

  #compact(space: number, first: Uint8Array): Promise<void> {
    const { last } = this.#removed.get(space) as Removed
    this.#removed.set(space, new Removed())
    return this.#tables.compact(first, last as Uint8Array)
  }
}
