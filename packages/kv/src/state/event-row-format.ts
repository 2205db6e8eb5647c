// Rule: the byte format of stored events. Most revisions are small, so sixteen revisions with consecutive
// numbers share a row. A large revision has rows of its own, called pieces.
//
//   group row   key     u48 first revision | u16 0
//               value   checksum | 16 heads, of revisions first .. first + 15 | their events, in order
//   head        u32le count of events (0: none is kept) | u32le bytes of the events | u32le hash
//               | u16le pieces (0: the events are in this row; otherwise: the events are in that many rows,
//               each with the key u48 revision | u16 piece, from 1 on)
//   event       u8 type (EVENT of protocol) | u16le key length | key | u32le value length | value
//               | u32le previous length | previous value      (length 0xffffffff: there is none)
//
// The hash in a head covers the changes of one revision. For each changed key, the hash uses the checksum of
// the key's row before the change, and the checksum of its row after the change (key-value-row-format.ts).

import { EVENT, type EventResult, type EventType } from '@latchkey/protocol'
import { APART_BYTES, type Apart, asBuffer, withApart } from '@latchkey/base'
import { writeU16, writeU32 } from '../little-endian.js'
import { CHECKSUM_BYTES, storedChecksum } from '../storage/stored-row-checksum.js'
import { ROW_TAIL, valueLength, valueOf } from './key-value-row-format.js'

export const GROUP = 16
/**
 * In bytes. A revision with more bytes of events has rows of its own, called pieces. The row of a group must
 * stay small, because it is written again with each batch until the group is complete.
 */
export const INLINE_BYTES: number = 4 * 1024
/** The most bytes of one piece. A larger single event is also one piece. */
export const PIECE_BYTES: number = 256 * 1024

const EVENT_HEAD = 11
const NONE = 0xffffffff

/**
 * The change of one key by one command. `row` and `before` are stored rows of the key, with their checksums.
 */
export interface Change {
  readonly type: EventType
  /** The key, with one character for each byte. */
  readonly key: string
  /** null means that the key was removed. */
  readonly row: Uint8Array | null
  readonly before: Uint8Array | null
}

/** Returns how many bytes an event has. The limit of the history counts these bytes. */
export const eventBytes = (key: string, row: Uint8Array | null, before: Uint8Array | null): number =>
  EVENT_HEAD + key.length + lengthOf(row) + lengthOf(before)

export const eventBytesOf = (keyLength: number, before: Uint8Array): number =>
  EVENT_HEAD + keyLength + valueLength(before)

const lengthOf = (row: Uint8Array | null): number => (row === null ? 0 : valueLength(row))

export const firstHash = (revision: number): number => revision >>> 0

/** Adds one change to the hash of a revision's changes. The order of the changes matters. */
export const hashWith = (hash: number, { type, row, before }: Omit<Change, 'key'>): number =>
  mixed(mixed(hash, row === null ? type : storedChecksum(row)), before === null ? 2 : storedChecksum(before))

function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x9e3779b1)
  return (product ^ (product >>> 15)) >>> 0
}

/**
 * Returns the row of a piece in parts. The first four bytes are free for the checksum. Large values are not
 * copied.
 */
export function encodePiece(changes: readonly Change[]): Uint8Array[] {
  let bytes = CHECKSUM_BYTES
  for (const { key, row, before } of changes)
    bytes += eventBytes(key, row, before) - bytesApart(row) - bytesApart(before)
  const into = Buffer.allocUnsafe(bytes + SCRATCH)
  const apart: Apart[] = []
  writeEvents(into, CHECKSUM_BYTES, changes, apart)
  return withApart(into, 0, bytes, apart)
}

const bytesApart = (row: Uint8Array | null): number => {
  const bytes = lengthOf(row)
  return bytes >= APART_BYTES ? bytes : 0
}

/**
 * Writes the events into the buffer, from the offset `start` on. If `apart` is given, large values are added
 * to `apart` instead.
 */
export function writeEvents(into: Buffer, start: number, changes: readonly Change[], apart?: Apart[]): void {
  let at = start
  for (const change of changes) at = writeEvent(into, at, change, apart)
}

/**
 * In bytes, the free space that a buffer must have after its last event. writeEvent first copies a whole row
 * into the buffer, and then overwrites the bytes after the row's value.
 */
export const SCRATCH: number = ROW_TAIL

export function writeEvent(
  into: Buffer,
  start: number,
  { key, type, row, before }: Change,
  apart?: Apart[],
): number {
  into[start] = type
  writeU16(into, start + 1, key.length)
  writeText(into, start + 3, key)
  return writeValue(into, writeValue(into, start + 3 + key.length, row, apart), before, apart)
}

function writeValue(into: Buffer, at: number, row: Uint8Array | null, apart?: Apart[]): number {
  const length = row === null ? NONE : valueLength(row)
  if (row !== null && apart !== undefined && length >= APART_BYTES) {
    writeU32(into, at, length)
    apart.push({ at: at + 4, data: valueOf(row) })
    return at + 4
  }
  if (row !== null) into.set(row, at + 4 - CHECKSUM_BYTES)
  writeU32(into, at, length)
  return row === null ? at + 4 : at + 4 + length
}

/**
 * Writes a text with one byte for each character. For a short key the loop is faster than a call of
 * Buffer.write.
 */
function writeText(into: Buffer, at: number, text: string): void {
  if (text.length > 64) into.write(text, at, 'latin1')
  else for (let i = 0; i < text.length; i++) into[at + i] = text.charCodeAt(i)
}

/** Returns true if the bytes are whole events. If `count` is given, there must be exactly `count` events. */
export function areEvents(bytes: Uint8Array, count?: number): boolean {
  const row = asBuffer(bytes)
  let at = 0
  let found = 0
  for (; at < row.length; found++) {
    if (at + 3 > row.length || (row[at] as number) > EVENT.session) return false
    at += 3 + row.readUInt16LE(at + 1)
    for (let data = 0; data < 2; data++) {
      if (at + 4 > row.length) return false
      const length = row.readUInt32LE(at)
      at += length === NONE ? 4 : 4 + length
    }
  }
  return at === row.length && (count === undefined || found === count)
}

/** Appends the events to `into`. Their keys and values are views of `bytes`. */
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
    const type = row[at] as EventType
    const keyEnd = at + 3 + row.readUInt16LE(at + 1)
    const key = row.subarray(at + 3, keyEnd)
    at = keyEnd
    into.push([revision, type, key, data(), data()])
  }
}
