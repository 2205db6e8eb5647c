// Rule: a revision's events as rows. Small revisions are one row; large ones are cut into pieces, an event never.
//
//   piece 0      u48le count of events | u48le bytes counted | u16le pieces | events ...
//   other pieces events ...
//   event        u8 type | u16le key length | key | u32le value length | value | u32le previous length | previous
//                (length 0xffffffff: there is none)

import type { EventResult } from '@latchkey/protocol'
import { eventKey } from '../keyspaces.js'
import { SEAL, seal } from '../rows/seal.js'

/** A piece is closed when it would grow beyond. */
const PIECE_BYTES = 256 * 1024
const HEAD = 14
const EVENT_HEAD = 11
const NONE = 0xffffffff

export type Change = readonly [
  type: 0 | 1,
  key: Uint8Array,
  value: Uint8Array | null,
  previous: Uint8Array | null,
]

export interface EventRow {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** What an event counts for in the cap. */
export const eventBytes = (change: Change): number =>
  EVENT_HEAD + change[1].length + (change[2]?.length ?? 0) + (change[3]?.length ?? 0)

export function encodeEvents(revision: number, changes: readonly Change[]): EventRow[] {
  const pieces = cut(changes)
  return pieces.map((piece, i) => {
    const value = Buffer.allocUnsafeSlow(SEAL + (i === 0 ? HEAD : 0) + sumBytes(piece))
    let at = SEAL
    if (i === 0) {
      value.writeUIntLE(changes.length, at, 6)
      value.writeUIntLE(sumBytes(changes), at + 6, 6)
      value.writeUInt16LE(pieces.length, at + 12)
      at += HEAD
    }
    for (const change of piece) at = writeEvent(value, at, change)
    const key = eventKey(revision, i)
    seal(key, value)
    return { key, value }
  })
}

const sumBytes = (changes: readonly Change[]): number =>
  changes.reduce((sum, change) => sum + eventBytes(change), 0)

function cut(changes: readonly Change[]): Change[][] {
  const pieces: Change[][] = [[]]
  let bytes = 0
  for (const change of changes) {
    const size = eventBytes(change)
    if (bytes > 0 && bytes + size > PIECE_BYTES) {
      pieces.push([])
      bytes = 0
    }
    ;(pieces[pieces.length - 1] as Change[]).push(change)
    bytes += size
  }
  return pieces
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

export interface EventHead {
  readonly count: number
  readonly bytes: number
  readonly pieces: number
}

/** Of a sealed piece 0. */
export function eventHead(value: Uint8Array): EventHead {
  const row = asBuffer(value)
  return {
    count: row.readUIntLE(SEAL, 6),
    bytes: row.readUIntLE(SEAL + 6, 6),
    pieces: row.readUInt16LE(SEAL + 12),
  }
}

/** Appends the events of a sealed piece to `into`; their bytes are views of it. */
export function decodeEvents(revision: number, piece: number, value: Uint8Array, into: EventResult[]): void {
  const row = asBuffer(value)
  let at = SEAL + (piece === 0 ? HEAD : 0)
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

const asBuffer = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
