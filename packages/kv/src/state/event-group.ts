// Rule: the row of sixteen revisions while it grows, in the very bytes that are stored (event-row.ts): each event is written once.
// Laws: revisions come in order; what was written is never changed but for the seal; a row that is closed is whole, and one that
// is not is stored as a copy, since more will be written in it.

import { asBuffer } from '@latchkey/base'
import { SEAL, seal } from '../storage/row-checksum.js'
import { eventKey } from '../keyspaces.js'
import { writeU16, writeU32 } from '../little-endian.js'
import { GROUP, SCRATCH, areEvents } from './event-row.js'

const HEAD = 14
const TABLE = SEAL + GROUP * HEAD
/** Bytes to begin with. */
export const LEAST: number = TABLE

export class EventGroup {
  readonly first: number
  /** The row's value, with room behind `end`. */
  bytes: Buffer
  end: number
  /** Its row is in the store or on its way there. */
  stored: boolean
  dirty = false
  #whole: Uint8Array | undefined
  #own: boolean

  private constructor(first: number, bytes: Buffer, end: number, stored: boolean) {
    this.first = first
    this.bytes = bytes
    this.end = end
    this.stored = stored
    this.#own = !stored
  }

  /** `bytes`: of LEAST or more, the group's own from now on. */
  static begin(first: number, bytes: Buffer): EventGroup {
    return new EventGroup(first, bytes.fill(0, 0, TABLE), TABLE, false)
  }

  /** A row of the store whose seal is right. */
  static from(first: number, row: Uint8Array): EventGroup {
    return new EventGroup(first, asBuffer(row), row.length, true)
  }

  has(revision: number): boolean {
    return this.count(revision) !== 0
  }
  count(revision: number): number {
    return this.bytes.readUInt32LE(this.#head(revision))
  }
  size(revision: number): number {
    return this.bytes.readUInt32LE(this.#head(revision) + 4)
  }
  mark(revision: number): number {
    return this.bytes.readUInt32LE(this.#head(revision) + 8)
  }
  /** Rows that its events have; 0: they are in this one. */
  pieces(revision: number): number {
    return this.bytes.readUInt16LE(this.#head(revision) + 12)
  }

  #head(revision: number): number {
    return SEAL + (revision - this.first) * HEAD
  }

  /** Its events, where they are in this row; a view. */
  events(revision: number): Uint8Array {
    let at = TABLE
    for (let before = this.first; before < revision; before++) {
      if (this.pieces(before) === 0) at += this.size(before)
    }
    return this.bytes.subarray(at, at + this.size(revision))
  }

  /** One more revision. Its events, if they are to be in this row, are written by the caller from the answer on. */
  add(revision: number, count: number, size: number, mark: number, pieces: number): number {
    const inline = pieces === 0 ? size : 0
    const room = this.end + inline + SCRATCH
    if (room > this.bytes.length) this.#grow(room)
    const { bytes } = this
    const at = this.#head(revision)
    writeU32(bytes, at, count)
    writeU32(bytes, at + 4, size)
    writeU32(bytes, at + 8, mark)
    writeU16(bytes, at + 12, pieces)
    this.end += inline
    return this.end - inline
  }

  #grow(least: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, least))
    larger.set(this.bytes.subarray(0, this.end))
    this.bytes = larger
    this.#own = true
  }

  /** Its bytes, to be used for another one: undefined where they are the store's. Nothing else may be asked of it then. */
  spare(): Buffer | undefined {
    return this.#own ? this.bytes : undefined
  }

  /** Its last revision is there, events and all. */
  close(): void {
    this.#whole = this.bytes.subarray(0, this.end)
    seal(eventKey(this.first, 0), this.#whole)
  }

  /** The row's value, sealed. */
  value(): Uint8Array {
    if (this.#whole !== undefined) return this.#whole
    const value = Buffer.from(this.bytes.subarray(0, this.end))
    seal(eventKey(this.first, 0), value)
    return value
  }
}

/** Is this the row of a group: its table, and the events that the table speaks of? */
export function isGroup(first: number, row: Uint8Array): boolean {
  if (row.length < TABLE) return false
  const group = EventGroup.from(first, row)
  let end = TABLE
  for (let revision = first; revision < first + GROUP; revision++) {
    if (group.pieces(revision) > 0) continue
    const begin = end
    end += group.size(revision)
    if (end > row.length || !areEvents(row.subarray(begin, end), group.count(revision))) return false
  }
  return end === row.length
}

/** A group's row counts for the revisions from `floor` on; `pieces` is how many rows of large ones go with it. */
export function groupSums(
  first: number,
  row: Uint8Array,
  floor: number,
): { marks: number[]; pieces: number } {
  const group = EventGroup.from(first, row)
  const marks: number[] = []
  let pieces = 0
  for (let revision = Math.max(first, floor); revision < first + GROUP; revision++) {
    if (!group.has(revision)) continue
    marks.push(group.mark(revision))
    pieces += group.pieces(revision)
  }
  return { marks, pieces }
}
