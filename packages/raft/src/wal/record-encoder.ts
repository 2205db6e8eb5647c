// Rule: encodes a record of the log as bytes.

import { APART_BYTES, type Apart, checksum, elementAt, withApart } from '@latchkey/base'
import type { Entry, GroupId, HardState } from '../core/types.js'
import type { Identity } from './log-interface.js'
import { putU64 } from './little-endian-bytes.js'
import {
  ENTRY_HEADER_BYTES,
  entryKindCode,
  NO_VOTE,
  PART,
  RECORD_HEADER_BYTES,
  type RecordKind,
} from './disk-format.js'
import { lastIndexAfter, type Start, type Turn } from './log-record.js'

/**
 * Where a record is in the log. The record's checksum also covers these fields, so a record at a wrong place
 * is noticed.
 */
export interface Place {
  readonly group: GroupId
  /** In bytes, where the record begins. Offsets count through all segments, as if they were one file. */
  readonly offset: number
  /**
   * The checksum of the previous record, from which the checksum of this record continues. For the first
   * record of a segment, the checksum of the segment's preamble.
   */
  readonly previous: number
  /** The log's last index before the record. */
  readonly lastIndex: number
}

const textBytes = (text: string): number => Buffer.byteLength(text, 'utf8')

export function recordBytes(turn: Turn): number {
  let bytes = RECORD_HEADER_BYTES
  if (turn.voidFrom !== undefined) bytes += 8
  if (turn.start !== undefined) bytes += 28 + turn.start.membership.length
  if (turn.entries.length > 0) bytes += 12
  for (const entry of turn.entries) bytes += ENTRY_HEADER_BYTES + entry.data.length
  if (turn.hardState !== undefined) bytes += 12 + textBytes(turn.hardState.vote ?? '')
  if (turn.identity !== undefined) bytes += identityBytes(turn.identity)
  return bytes
}

const identityBytes = ({ clusterId, memberId, incarnation }: Identity): number =>
  12 + textBytes(clusterId) + textBytes(memberId) + textBytes(incarnation)

const isApart = ({ data }: Entry): boolean => data.length >= APART_BYTES

/**
 * Returns how many bytes of the record are not copied into the buffer, because they belong to large entries
 * (APART_BYTES).
 */
export const bytesApart = ({ entries }: Turn): number =>
  entries.reduce((sum, entry) => (isApart(entry) ? sum + entry.data.length : sum), 0)

/**
 * Encodes a record into the buffer at `at` and returns the offset after the record. The buffer must be large
 * enough. Data of large entries is not copied: it is added to `apart`, and the caller writes it from there.
 */
export function putRecord(
  buffer: Buffer,
  at: number,
  kind: RecordKind,
  turn: Turn,
  place: Place,
  apart: Apart[] = [],
): number {
  const first = apart.length
  const end = putParts(buffer, at + RECORD_HEADER_BYTES, turn, apart)
  buffer.writeUInt32LE(end - at + bytesApart(turn), at + 4)
  buffer.writeUInt32LE(place.group, at + 8)
  buffer.writeUInt32LE(kind | (partsOf(turn) << 8), at + 12)
  putU64(buffer, at + 16, place.offset)
  putU64(buffer, at + 24, lastIndexAfter(turn, place.lastIndex))
  let sum = place.previous
  for (const part of withApart(buffer, at + 4, end, apart.slice(first))) sum = checksum(part, sum)
  buffer.writeUInt32LE(sum, at)
  return end
}

function partsOf(turn: Turn): number {
  return (
    (turn.voidFrom !== undefined ? PART.void : 0) |
    (turn.start !== undefined ? PART.start : 0) |
    (turn.entries.length > 0 ? PART.entries : 0) |
    (turn.hardState !== undefined ? PART.hardState : 0) |
    (turn.identity !== undefined ? PART.identity : 0)
  )
}

function putParts(buffer: Buffer, from: number, turn: Turn, apart: Apart[]): number {
  let at = from
  if (turn.voidFrom !== undefined) {
    putU64(buffer, at, turn.voidFrom)
    at += 8
  }
  if (turn.start !== undefined) at = putStart(buffer, at, turn.start)
  if (turn.entries.length > 0) at = putEntries(buffer, at, turn.entries, apart)
  if (turn.hardState !== undefined) at = putHardState(buffer, at, turn.hardState)
  if (turn.identity !== undefined) at = putIdentity(buffer, at, turn.identity)
  return at
}

function putStart(buffer: Buffer, at: number, { position, membership }: Start): number {
  putU64(buffer, at, position.index)
  putU64(buffer, at + 8, position.term)
  buffer.writeDoubleLE(position.time, at + 16)
  buffer.writeUInt32LE(membership.length, at + 24)
  buffer.set(membership, at + 28)
  return at + 28 + membership.length
}

function putEntries(buffer: Buffer, from: number, entries: readonly Entry[], apart: Apart[]): number {
  putU64(buffer, from, elementAt(entries, 0).index)
  buffer.writeUInt32LE(entries.length, from + 8)
  let at = from + 12
  for (const entry of entries) {
    putU64(buffer, at, entry.term)
    buffer.writeDoubleLE(entry.time, at + 8)
    buffer.writeUInt32LE(entry.data.length, at + 16)
    buffer.writeUInt32LE(entryKindCode(entry.kind), at + 20)
    at += ENTRY_HEADER_BYTES
    if (isApart(entry)) apart.push({ at, data: entry.data })
    else {
      buffer.set(entry.data, at)
      at += entry.data.length
    }
  }
  return at
}

function putHardState(buffer: Buffer, at: number, { term, vote }: HardState): number {
  putU64(buffer, at, term)
  if (vote === undefined) {
    buffer.writeUInt32LE(NO_VOTE, at + 8)
    return at + 12
  }
  const length = buffer.write(vote, at + 12, 'utf8')
  buffer.writeUInt32LE(length, at + 8)
  return at + 12 + length
}

function putIdentity(buffer: Buffer, from: number, { clusterId, memberId, incarnation }: Identity): number {
  let at = from
  for (const text of [clusterId, memberId, incarnation]) {
    const length = buffer.write(text, at + 4, 'utf8')
    buffer.writeUInt32LE(length, at)
    at += 4 + length
  }
  return at
}
