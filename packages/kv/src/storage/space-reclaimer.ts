// Driver: starts the compactions that free disk space. LevelDB by itself does not free the space of these
// rows.
//
// If rows are removed in the order in which they were added, LevelDB moves old tables down its levels
// unchanged. It never merges these tables with the records that remove their rows. A store of ten megabytes
// grew to gigabytes, and every start had to check all of them. When 32 MB of rows were deleted, their tables
// stayed as they were.
//
// Laws
// - Only one compaction runs at a time, beside the writes, and no caller waits for it.
// - A compaction changes no row. A crash during a compaction leaves tables that no manifest names.
// - If a compaction fails, LevelDB itself refuses further writes, and the write reports the error.
// - A compaction runs only if it frees much space. For rows that are removed in order, it runs after a given
//   number of removed rows. For other rows, it runs if less than half of the bytes between the first and the
//   last removed key are live. It also runs if so many rows were removed that much of the space must be
//   garbage.

import { copyBytes } from '@latchkey/base'

export interface Tables {
  compact(start: Uint8Array, end: Uint8Array): Promise<void>
  /** About how many bytes the tables have for the keys of [start, end]. */
  size(start: Uint8Array, end: Uint8Array): Promise<number>
  /**
   * Whether the live rows of [start, end] have fewer bytes than `bytes`. This method reads no more than that
   * many bytes.
   */
  isBelow(bytes: number, start: Uint8Array, end: Uint8Array): Promise<boolean>
}

/** The key spaces whose disk space is freed. A space is named by the first byte of its keys. */
export interface ReclaimedSpaces {
  /**
   * The spaces whose rows are removed in the order in which they were added. The value of a space is the
   * number of removed rows after which a compaction runs.
   */
  readonly queues: Readonly<Record<number, number>>
  /** Spaces whose rows are removed in any order. */
  readonly others: readonly number[]
}

/**
 * In removed rows, when the first check comes. The number doubles from one check to the next, so that checks
 * cost little compared with the removals.
 */
const FIRST_LOOK = 16
/** In bytes. If there is less garbage than this, no compaction runs. */
const LEAST_BYTES = 2 * 1024 * 1024
/** One check reads no more than this. */
const MOST_LOOK_BYTES = 8 * 1024 * 1024
/**
 * In removed rows. After this number, the whole range between the removed rows is compacted without a check.
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
   * Called when the removals are on the disk. The caller reuses the bytes of the batch only after this call.
   */
  written(): void {
    for (const removed of this.#removed.values()) removed.keep()
    if (this.#busy) return
    for (const [space, removed] of this.#removed) {
      const worth = this.#spaces.queues[space]
      if (removed.rows < (worth ?? removed.lookAt)) continue
      // If rows are removed in order, every row before the last removed row is removed too.
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
      // More rows may have been removed meanwhile. Perhaps no later write comes, so these rows are checked
      // now.
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
