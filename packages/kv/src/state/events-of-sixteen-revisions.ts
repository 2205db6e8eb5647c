// Rule: builds the row with the events of sixteen revisions (event-row-format.ts). Each event is written
// directly into the bytes of the row.
//
// Laws: revisions are added in order. Written bytes never change, except the checksum. A closed row is
// complete. An open row is stored as a copy, because more events will be written to the open row.

import { asBuffer } from '@latchkey/base'
import { CHECKSUM_BYTES, setChecksum } from '../storage/stored-row-checksum.js'
import { eventKey } from '../keyspaces.js'
import { writeU16, writeU32 } from '../little-endian.js'
import { GROUP, SCRATCH, areEvents } from './event-row-format.js'

const HEAD = 14
const TABLE = CHECKSUM_BYTES + GROUP * HEAD
export const LEAST: number = TABLE

export class EventGroup {
  readonly first: number
  /** The bytes of the row, in the stored format. The bytes after `end` are free for more events. */
  bytes: Buffer
  end: number
  /** True if the row is in the store, or in the batch that is being written. */
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

  /**
   * Begins a row in the buffer `bytes`, which has at least LEAST bytes. No other code may use the buffer from
   * now on.
   */
  static begin(first: number, bytes: Buffer): EventGroup {
    return new EventGroup(first, bytes.fill(0, 0, TABLE), TABLE, false)
  }

  /** Makes a group from its stored row. The caller has checked the checksum of the row. */
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
  hash(revision: number): number {
    return this.bytes.readUInt32LE(this.#head(revision) + 8)
  }
  /**
   * Returns how many rows of its own a large revision has. 0 means that the events of the revision are in
   * this row.
   */
  pieces(revision: number): number {
    return this.bytes.readUInt16LE(this.#head(revision) + 12)
  }

  #head(revision: number): number {
    return CHECKSUM_BYTES + (revision - this.first) * HEAD
  }

  /** Returns the events of a revision, as a view. The revision must have no rows of its own. */
  events(revision: number): Uint8Array {
    let at = TABLE
    for (let before = this.first; before < revision; before++) {
      if (this.pieces(before) === 0) at += this.size(before)
    }
    return this.bytes.subarray(at, at + this.size(revision))
  }

  /**
   * Adds the next revision to the row. If `pieces` is 0, the caller must write the events of the revision at
   * the returned offset. Otherwise the events are in rows of their own.
   */
  add(revision: number, count: number, size: number, hash: number, pieces: number): number {
    const inline = pieces === 0 ? size : 0
    const room = this.end + inline + SCRATCH
    if (room > this.bytes.length) this.#grow(room)
    const { bytes } = this
    const at = this.#head(revision)
    writeU32(bytes, at, count)
    writeU32(bytes, at + 4, size)
    writeU32(bytes, at + 8, hash)
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

  /**
   * Returns the buffer, so that another group can use it, or undefined if the store owns the buffer. After
   * the call no code may use this group.
   */
  spare(): Buffer | undefined {
    return this.#own ? this.bytes : undefined
  }

  /** Computes the checksum of the complete row. Called after the last of the sixteen revisions was added. */
  close(): void {
    this.#whole = this.bytes.subarray(0, this.end)
    setChecksum(eventKey(this.first, 0), this.#whole)
  }

  value(): Uint8Array {
    if (this.#whole !== undefined) return this.#whole
    const value = Buffer.from(this.bytes.subarray(0, this.end))
    setChecksum(eventKey(this.first, 0), value)
    return value
  }
}

/**
 * Returns true if the bytes are the row of a group: a table of sixteen heads, and the events that the heads
 * describe.
 */
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

/**
 * For each revision of the group from `floor` on, returns the hash of its changes (event-row-format.ts).
 * `pieces` is the number of rows of all large revisions.
 */
export function groupSums(
  first: number,
  row: Uint8Array,
  floor: number,
): { hashes: number[]; pieces: number } {
  const group = EventGroup.from(first, row)
  const hashes: number[] = []
  let pieces = 0
  for (let revision = Math.max(first, floor); revision < first + GROUP; revision++) {
    if (!group.has(revision)) continue
    hashes.push(group.hash(revision))
    pieces += group.pieces(revision)
  }
  return { hashes, pieces }
}
