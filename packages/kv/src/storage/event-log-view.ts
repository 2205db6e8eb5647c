// Driver: a view of the event log. It shows the rows that were in use when the view was taken.

import { elementAt, EMPTY, binary, fromBinary } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { EventLogFile } from './event-log-file.js'
import type { Reach } from './event-log-format.js'
import type { Row, RowPage, RowRange } from './row-store.js'
import { damagedRow } from './stored-row-checksum.js'

/** Where the value of a row is stored. */
export interface Place {
  readonly file: EventLogFile
  readonly at: number
  readonly length: number
}
export type Index = Map<string, Place>

/** A batch that is in the event log, but perhaps not in LevelDB yet. */
export interface Pending {
  readonly changes: ReadonlyMap<string, Place | undefined>
  readonly reach: Reach
}

export class EventLogView {
  readonly #index: ReadonlyMap<string, Place>
  /**
   * The batch that was being written when the view was taken. The view shows this batch only if LevelDB's
   * view has the batch too, because a view shows whole batches (RW4).
   */
  readonly #pending: Pending | undefined
  readonly #release: () => void
  #rows: readonly (readonly [string, Place])[] | undefined
  #closed = false

  constructor(index: ReadonlyMap<string, Place>, pending: Pending | undefined, release: () => void) {
    this.#index = index
    this.#pending = pending
    this.#release = release
  }

  /**
   * `reach` reads the reach from LevelDB's part of the view. The reach tells up to which byte the event log
   * is valid for this view.
   */
  async page(range: RowRange, rows: number, bytes: number, reach: () => Promise<Reach>): Promise<RowPage> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    this.#rows ??= inOrder(await this.#indexAt(reach))
    const [from, to] = bounds(this.#rows, range)
    const found: Row[] = []
    let size = 0
    for (let i = 0; i < to - from; i++) {
      if (found.length >= rows || size >= bytes) return { rows: found, end: false }
      const [key, place] = elementAt(this.#rows, range.reverse === true ? to - 1 - i : from + i)
      const value = range.keysOnly === true ? EMPTY : await valueOf(key, place)
      found.push({ key: fromBinary(key), value })
      size += key.length + value.length
    }
    return { rows: found, end: true }
  }

  async #indexAt(reach: () => Promise<Reach>): Promise<ReadonlyMap<string, Place>> {
    const pending = this.#pending
    if (pending === undefined) return this.#index
    const { last, end } = await reach()
    if (last !== pending.reach.last || end !== pending.reach.end) return this.#index
    const index = new Map(this.#index)
    for (const [key, place] of pending.changes) {
      if (place === undefined) index.delete(key)
      else index.set(key, place)
    }
    return index
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#release()
  }
}

const inOrder = (index: ReadonlyMap<string, Place>): [string, Place][] =>
  [...index].sort(([a], [b]) => (a < b ? -1 : 1))

async function valueOf(key: string, { file, at, length }: Place): Promise<Uint8Array> {
  const value = await file.read(at, length)
  if (value.length !== length) throw damagedRow(fromBinary(key), 'the event log ends in it')
  return value
}

/**
 * Returns the range as two indexes of the list: the index of the first row, and the index after the last row.
 */
function bounds(rows: readonly (readonly [string, Place])[], { start, end }: RowRange): [number, number] {
  const from = start === undefined ? 0 : firstFrom(rows, binary(start))
  const to = end === undefined ? rows.length : firstFrom(rows, binary(end))
  return [from, Math.max(from, to)]
}

function firstFrom(rows: readonly (readonly [string, Place])[], key: string): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (elementAt(rows, middle)[0] < key) low = middle + 1
    else high = middle
  }
  return low
}
