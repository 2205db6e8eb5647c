// Rule: events as bytes. Revisions are many and mostly small, so sixteen neighbours share a row; a large one has rows of its own.
//
//   group row   key u48 first revision | u16 0         seal | 16 heads, of revisions first .. first + 15 | their events, in order
//   head        u32le events (0: none is kept) | u32le bytes counted | u32le mark | u16le pieces
//               pieces 0: the events are here, in as many bytes as are counted; else they are in that many rows,
//               key u48 revision | u16 piece from 1 on
//   event       u8 type | u16le key length | key | u32le value length | value | u32le previous length | previous
//               (length 0xffffffff: there is none)
//
// A revision's mark is what the state's hash adds up. It is made of the seals of the rows that its events speak of, which cover
// key, revision and value: so no byte of an event is summed up for it once more. Its bytes are covered by their row's seal.

import type { EventResult } from '@latchkey/protocol'
import { asBuffer } from '@latchkey/base'
import { writeU16, writeU32 } from '../little-endian.js'
import { SEAL, sealOf } from '../storage/row-checksum.js'
import { ROW_TAIL, valueLength } from './data-row.js'

export const GROUP = 16
/** Larger revisions are not in their group's row. */
export const INLINE_BYTES: number = 4 * 1024
/** Of a row of a larger one: it may be more where a single event is. */
export const PIECE_BYTES: number = 256 * 1024

const EVENT_HEAD = 11
const NONE = 0xffffffff

/** What one command did to one key. Rows are sealed rows of data. */
export interface Change {
  /** A character a byte. */
  readonly key: string
  /** null: removed. */
  readonly row: Uint8Array | null
  readonly before: Uint8Array | null
}

/** What an event counts for in the cap, which is what it takes. */
export const eventBytes = (key: string, row: Uint8Array | null, before: Uint8Array | null): number =>
  EVENT_HEAD + key.length + lengthOf(row) + lengthOf(before)

/** Of a removal. */
export const eventBytesOf = (keyLength: number, before: Uint8Array): number =>
  EVENT_HEAD + keyLength + valueLength(before)

const lengthOf = (row: Uint8Array | null): number => (row === null ? 0 : valueLength(row))

export const firstMark = (revision: number): number => revision >>> 0

/** A revision's mark with one more of its changes; the order counts. */
export const marked = (mark: number, row: Uint8Array | null, before: Uint8Array | null): number =>
  stirred(stirred(mark, row === null ? 1 : sealOf(row)), before === null ? 2 : sealOf(before))

function stirred(mark: number, word: number): number {
  const mixed = Math.imul(mark ^ word, 0x9e3779b1)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

/** A piece's row, not yet sealed. */
export function encodePiece(changes: readonly Change[]): Buffer {
  const bytes = changes.reduce((sum, { key, row, before }) => sum + eventBytes(key, row, before), SEAL)
  const into = Buffer.allocUnsafe(bytes + SCRATCH)
  writeEvents(into, SEAL, changes)
  return into.subarray(0, bytes)
}

export function writeEvents(into: Buffer, start: number, changes: readonly Change[]): void {
  let at = start
  for (const { key, row, before } of changes) at = writeEvent(into, at, key, row, before)
}

/** What has to be free behind the last event: the end of a row that was copied whole. */
export const SCRATCH: number = ROW_TAIL

/** Rows are copied whole: what stands around their values is written over. */
export function writeEvent(
  into: Buffer,
  start: number,
  key: string,
  row: Uint8Array | null,
  before: Uint8Array | null,
): number {
  into[start] = row === null ? 1 : 0
  writeU16(into, start + 1, key.length)
  writeText(into, start + 3, key)
  return writeValue(into, writeValue(into, start + 3 + key.length, row), before)
}

function writeValue(into: Buffer, at: number, row: Uint8Array | null): number {
  const length = row === null ? NONE : valueLength(row)
  if (row !== null) into.set(row, at + 4 - SEAL)
  writeU32(into, at, length)
  return row === null ? at + 4 : at + 4 + length
}

/** Most keys are short, and a call out of the engine is not. */
function writeText(into: Buffer, at: number, text: string): void {
  if (text.length > 64) into.write(text, at, 'latin1')
  else for (let i = 0; i < text.length; i++) into[at + i] = text.charCodeAt(i)
}

/** Are these bytes whole events, and as many as that, where it is known? */
export function areEvents(bytes: Uint8Array, count?: number): boolean {
  const row = asBuffer(bytes)
  let at = 0
  let found = 0
  for (; at < row.length; found++) {
    if (at + 3 > row.length || (row[at] as number) > 1) return false
    at += 3 + row.readUInt16LE(at + 1)
    for (let data = 0; data < 2; data++) {
      if (at + 4 > row.length) return false
      const length = row.readUInt32LE(at)
      at += length === NONE ? 4 : 4 + length
    }
  }
  return at === row.length && (count === undefined || found === count)
}

/** Appends the events to `into`; their bytes are views. */
export function decodeEvents(revision: number, bytes: Uint8Array, into: EventResult[]): void {
  const row = asBuffer(bytes)
  let at = 0
  const data = (): Uint8Array | null => {
    const length = row.readUInt32LE(at)
    at += 4
    if (length === NONE) return null
    at += length
    return row.subarray(at - length, at)
  }
  while (at < row.length) {
    const type = row[at] as 0 | 1
    const keyEnd = at + 3 + row.readUInt16LE(at + 1)
    const key = row.subarray(at + 3, keyEnd)
    at = keyEnd
    into.push([revision, type, key, data(), data()])
  }
}
