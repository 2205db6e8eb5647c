// Driver: a view of the event log. The view shows the rows that were in use when the view was taken.

import { elementAt, EMPTY, binary, fromBinary } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { EventLogFile } from './event-log-file.js'
import type { ValidEnd } from './event-log-file-format.js'
import type { Row, RowPage, RowRange } from './row-store-interface.js'
import { damagedRow } from './stored-row-checksum.js'

export interface ValueLocation {
  readonly file: EventLogFile
  readonly at: number
  readonly length: number
}
export type Index = Map<string, ValueLocation>

/** A batch that is in the event log, but perhaps not in LevelDB yet. */
export interface Pending {
  readonly changes: ReadonlyMap<string, ValueLocation | undefined>
  readonly validEnd: ValidEnd
}

export class EventLogView {
  readonly #index: ReadonlyMap<string, ValueLocation>
  /**
   * The batch that was being written when this view was taken. LevelDB takes a snapshot together with the
   * view. The view shows the batch if that snapshot has the batch, and otherwise not (RW4).
   */
  readonly #pending: Pending | undefined
  readonly #release: () => void
  #rows: readonly (readonly [string, ValueLocation])[] | undefined
  #closed = false

  constructor(index: ReadonlyMap<string, ValueLocation>, pending: Pending | undefined, release: () => void) {
    this.#index = index
    this.#pending = pending
    this.#release = release
  }

  /** `validEnd` reads, from the LevelDB snapshot of this view, up to which byte the event log is valid. */
  async page(
    range: RowRange,
    rows: number,
    bytes: number,
    validEnd: () => Promise<ValidEnd>,
  ): Promise<RowPage> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    this.#rows ??= inOrder(await this.#indexAt(validEnd))
    const [from, to] = bounds(this.#rows, range)
    const found: Row[] = []
    let size = 0
    for (let i = 0; i < to - from; i++) {
      if (found.length >= rows || size >= bytes) return { rows: found, end: false }
      const [key, location] = elementAt(this.#rows, range.reverse === true ? to - 1 - i : from + i)
      const value = range.keysOnly === true ? EMPTY : await valueOf(key, location)
      found.push({ key: fromBinary(key), value })
      size += key.length + value.length
    }
    return { rows: found, end: true }
  }

  async #indexAt(validEnd: () => Promise<ValidEnd>): Promise<ReadonlyMap<string, ValueLocation>> {
    const pending = this.#pending
    if (pending === undefined) return this.#index
    const { last, end } = await validEnd()
    if (last !== pending.validEnd.last || end !== pending.validEnd.end) return this.#index
    const index = new Map(this.#index)
    for (const [key, location] of pending.changes) {
      if (location === undefined) index.delete(key)
      else index.set(key, location)
    }
    return index
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#release()
  }
}

const inOrder = (index: ReadonlyMap<string, ValueLocation>): [string, ValueLocation][] =>
  [...index].sort(([a], [b]) => (a < b ? -1 : 1))

async function valueOf(key: string, { file, at, length }: ValueLocation): Promise<Uint8Array> {
  const value = await file.read(at, length)
  if (value.length !== length) throw damagedRow(fromBinary(key), 'the event log ends in it')
  return value
}

/** Returns the index of the first row of the range, and the index of the first row after the range. */
function bounds(
  rows: readonly (readonly [string, ValueLocation])[],
  { start, end }: RowRange,
): [number, number] {
  const from = start === undefined ? 0 : firstFrom(rows, binary(start))
  const to = end === undefined ? rows.length : firstFrom(rows, binary(end))
  return [from, Math.max(from, to)]
}

function firstFrom(rows: readonly (readonly [string, ValueLocation])[], key: string): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (elementAt(rows, middle)[0] < key) low = middle + 1
    else high = middle
  }
  return low
}
