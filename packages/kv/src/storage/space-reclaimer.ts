// Driver: owns the giving back of disk space. LevelDB would not do it by itself: where rows come at one end of a space and go at the
// other, tables of old rows move down its levels as they are, and what says that their rows are removed never meets them. A store
// of ten megabytes was seen to grow to gigabytes, all of which a start has to check; and of 32 MB of rows that were deleted the tables
// stayed as they were.
//
// Laws
//   - One compaction at a time, beside the writes; nobody waits for it.
//   - It changes no row: a crash in the middle leaves tables that no manifest names.
//   - When it fails LevelDB itself takes no more writes: that is where the fault is told.
//   - What is compacted is worth it: of a queue so many rows were removed; elsewhere less than half of what the tables hold between the
//     first and the last removed key is live, or so many rows were removed that some of it must be garbage.

import { copyBytes } from '@latchkey/base'

export interface Tables {
  compact(start: Uint8Array, end: Uint8Array): Promise<void>
  /** About how many bytes the tables take for the keys of [start, end]. */
  size(start: Uint8Array, end: Uint8Array): Promise<number>
  /** Whether the live rows of [start, end] are fewer than so many bytes: it reads no more than that. */
  isBelow(bytes: number, start: Uint8Array, end: Uint8Array): Promise<boolean>
}

/** By the first byte of the keys. */
export interface ReclaimedSpaces {
  /** Rows go in the order in which they came: how many removed ones are worth a compaction. */
  readonly queues: Readonly<Record<number, number>>
  /** Rows go anywhere. */
  readonly others: readonly number[]
}

/** Between two looks the count of removed rows doubles, so that looking costs little beside removing. */
const FIRST_LOOK = 16
/** Less garbage than that is left to LevelDB. */
const LEAST_BYTES = 2 * 1024 * 1024
/** A look reads no more than that. */
const MOST_LOOK_BYTES = 8 * 1024 * 1024
/** Removed anywhere, so many rows are worth a compaction of all between them. */
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

  /** The batch that the keys came with may be used for something else from here on. */
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

  /** What was removed is on the disk. To be called before the batch's bytes are used again. */
  written(): void {
    for (const removed of this.#removed.values()) removed.keep()
    if (this.#busy) return
    for (const [space, removed] of this.#removed) {
      const worth = this.#spaces.queues[space]
      if (removed.rows < (worth ?? removed.lookAt)) continue
      // Of a queue everything before the last removed row is gone.
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
      // What was removed meanwhile may be worth it by now, and perhaps nothing is written any more.
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
