// Rule: events as bytes. Revisions are many and mostly small, so sixteen neighbours share a row; a large one has rows of its own.
//
//   group row   key u48 first revision | u16 0         slots of revisions first .. first + 15, those that were kept
//   slot        u8 place | u32le events | u32le bytes counted | u32le crc | u16le pieces | u32le length | events
//               pieces 0: the events are here; else they are in that many rows, key u48 revision | u16 piece from 1 on
//   event       u8 type | u16le key length | key | u32le value length | value | u32le previous length | previous
//               (length 0xffffffff: there is none)

import { checksum } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'

export const GROUP = 16
/** Larger revisions are not in their group's row: it is written again with each of its revisions. */
const INLINE_BYTES = 4 * 1024
/** A piece is closed when it would grow beyond; an event is never cut. */
const PIECE_BYTES = 256 * 1024

const EVENT_HEAD = 11
const SLOT_HEAD = 19
const NONE = 0xffffffff

export type Change = readonly [
  type: 0 | 1,
  key: Uint8Array,
  value: Uint8Array | null,
  previous: Uint8Array | null,
]

/** What an event counts for in the cap. */
export const eventBytes = (change: Change): number =>
  EVENT_HEAD + change[1].length + (change[2]?.length ?? 0) + (change[3]?.length ?? 0)

/** A revision in its group. */
export interface Slot {
  readonly count: number
  readonly bytes: number
  /** Over the revision and its events: what the state's hash adds up. */
  readonly crc: number
  /** 0: `inline` has the events. */
  readonly pieces: number
  readonly inline: Uint8Array
}

/** The revision's slot, and the pieces of a large one. */
export function encodeRevision(
  revision: number,
  changes: readonly Change[],
): { slot: Slot; pieces: readonly Uint8Array[] } {
  let bytes = 0
  for (const change of changes) bytes += eventBytes(change)
  const parts = bytes <= INLINE_BYTES ? [encodeEvents(changes, bytes)] : cut(changes)
  let crc = checksum(Buffer.from(String(revision)))
  for (const part of parts) crc = checksum(part, crc)
  const large = bytes > INLINE_BYTES
  const slot = {
    count: changes.length,
    bytes,
    crc,
    pieces: large ? parts.length : 0,
    inline: large ? NO_BYTES : (parts[0] as Uint8Array),
  }
  return { slot, pieces: large ? parts : [] }
}
const NO_BYTES = new Uint8Array(0)

function cut(changes: readonly Change[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  let piece: Change[] = []
  let bytes = 0
  const close = () => {
    if (piece.length > 0) pieces.push(encodeEvents(piece, bytes))
    piece = []
    bytes = 0
  }
  for (const change of changes) {
    const size = eventBytes(change)
    if (bytes + size > PIECE_BYTES) close()
    piece.push(change)
    bytes += size
  }
  close()
  return pieces
}

function encodeEvents(changes: readonly Change[], bytes: number): Uint8Array {
  const into = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const change of changes) at = writeEvent(into, at, change)
  return into
}

function writeEvent(into: Buffer, start: number, [type, key, value, previous]: Change): number {
  into[start] = type
  into.writeUInt16LE(key.length, start + 1)
  into.set(key, start + 3)
  return writeData(into, writeData(into, start + 3 + key.length, value), previous)
}

function writeData(into: Buffer, at: number, data: Uint8Array | null): number {
  into.writeUInt32LE(data === null ? NONE : data.length, at)
  if (data !== null) into.set(data, at + 4)
  return at + 4 + (data?.length ?? 0)
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

/** By place: revision minus the group's first. */
export type Slots = (Slot | undefined)[]

/** The body of a group's row. */
export function encodeGroup(slots: Slots): Uint8Array {
  let length = 0
  for (const slot of slots) if (slot !== undefined) length += SLOT_HEAD + slot.inline.length
  const body = Buffer.allocUnsafe(length)
  let at = 0
  slots.forEach((slot, place) => {
    if (slot === undefined) return
    body[at] = place
    body.writeUInt32LE(slot.count, at + 1)
    body.writeUInt32LE(slot.bytes, at + 5)
    body.writeUInt32LE(slot.crc, at + 9)
    body.writeUInt16LE(slot.pieces, at + 13)
    body.writeUInt32LE(slot.inline.length, at + 15)
    body.set(slot.inline, at + SLOT_HEAD)
    at += SLOT_HEAD + slot.inline.length
  })
  return body
}

export function decodeGroup(bytes: Uint8Array): Slots {
  const body = asBuffer(bytes)
  const slots: Slots = new Array<Slot | undefined>(GROUP).fill(undefined)
  for (let at = 0; at < body.length; ) {
    const end = at + SLOT_HEAD + body.readUInt32LE(at + 15)
    slots[body[at] as number] = {
      count: body.readUInt32LE(at + 1),
      bytes: body.readUInt32LE(at + 5),
      crc: body.readUInt32LE(at + 9),
      pieces: body.readUInt16LE(at + 13),
      inline: body.subarray(at + SLOT_HEAD, end),
    }
    at = end
  }
  return slots
}

/** A group's row counts for the revisions from `floor` on; `pieces` is how many rows of large ones go with it. */
export function groupSums(
  first: number,
  body: Uint8Array,
  floor: number,
): { crcs: number[]; pieces: number } {
  const kept = decodeGroup(body).filter(
    (slot, place) => slot !== undefined && first + place >= floor,
  ) as Slot[]
  return { crcs: kept.map((slot) => slot.crc), pieces: kept.reduce((sum, slot) => sum + slot.pieces, 0) }
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
