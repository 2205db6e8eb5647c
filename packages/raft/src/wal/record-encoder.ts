// Rule: encodes a record of the log as bytes.

import { APART_BYTES, type Apart, checksum, elementAt, withApart } from '@latchkey/base'
import type { Entry, GroupId, HardState } from '../core/types.js'
import type { Identity } from './log-types.js'
import { putU64 } from './little-endian-bytes.js'
import {
  ENTRY_HEADER_BYTES,
  entryKindCode,
  NO_VOTE,
  PART,
  RECORD_HEADER_BYTES,
  type RecordKind,
} from './disk-format.js'
import { lastIndexAfter, type Start, type RecordContent } from './log-record-in-memory.js'

/** The record's checksum also covers these fields. So recovery notices a record at a wrong place. */
interface Place {
  readonly group: GroupId
  /** In bytes, where the record begins. Offsets count through all segments, as if they were one file. */
  readonly offset: number
  /**
   * The checksum of the previous record, from which the checksum of this record continues. The first record
   * of a segment continues from the checksum of the segment's preamble.
   */
  readonly previous: number
  readonly lastIndex: number
}

const textBytes = (text: string): number => Buffer.byteLength(text, 'utf8')

export function recordBytes(record: RecordContent): number {
  let bytes = RECORD_HEADER_BYTES
  if (record.truncateFrom !== undefined) bytes += 8
  if (record.start !== undefined) bytes += 28 + record.start.membership.length
  if (record.entries.length > 0) bytes += 12
  for (const entry of record.entries) bytes += ENTRY_HEADER_BYTES + entry.data.length
  if (record.hardState !== undefined) bytes += 12 + textBytes(record.hardState.vote ?? '')
  if (record.identity !== undefined) bytes += identityBytes(record.identity)
  return bytes
}

const identityBytes = ({ clusterId, memberId, incarnation }: Identity): number =>
  12 + textBytes(clusterId) + textBytes(memberId) + textBytes(incarnation)

const isApart = ({ data }: Entry): boolean => data.length >= APART_BYTES

/**
 * How many bytes of the record are not copied into the buffer, because they belong to large entries
 * (APART_BYTES).
 */
export const bytesApart = ({ entries }: RecordContent): number =>
  entries.reduce((sum, entry) => (isApart(entry) ? sum + entry.data.length : sum), 0)

/**
 * Encodes a record into the buffer at `at` and returns the offset after the record. The buffer must be large
 * enough. Data of large entries is not copied: it is added to `apart`, and the caller writes it from there.
 */
export function putRecord(
  buffer: Buffer,
  at: number,
  kind: RecordKind,
  record: RecordContent,
  place: Place,
  apart: Apart[] = [],
): number {
  const first = apart.length
  const end = putParts(buffer, at + RECORD_HEADER_BYTES, record, apart)
  buffer.writeUInt32LE(end - at + bytesApart(record), at + 4)
  buffer.writeUInt32LE(place.group, at + 8)
  buffer.writeUInt32LE(kind | (partsOf(record) << 8), at + 12)
  putU64(buffer, at + 16, place.offset)
  putU64(buffer, at + 24, lastIndexAfter(record, place.lastIndex))
  let sum = place.previous
  for (const part of withApart(buffer, at + 4, end, apart.slice(first))) sum = checksum(part, sum)
  buffer.writeUInt32LE(sum, at)
  return end
}

function partsOf(record: RecordContent): number {
  return (
    (record.truncateFrom !== undefined ? PART.truncate : 0) |
    (record.start !== undefined ? PART.start : 0) |
    (record.entries.length > 0 ? PART.entries : 0) |
    (record.hardState !== undefined ? PART.hardState : 0) |
    (record.identity !== undefined ? PART.identity : 0)
  )
}

function putParts(buffer: Buffer, from: number, record: RecordContent, apart: Apart[]): number {
  let at = from
  if (record.truncateFrom !== undefined) {
    putU64(buffer, at, record.truncateFrom)
    at += 8
  }
  if (record.start !== undefined) at = putStart(buffer, at, record.start)
  if (record.entries.length > 0) at = putEntries(buffer, at, record.entries, apart)
  if (record.hardState !== undefined) at = putHardState(buffer, at, record.hardState)
  if (record.identity !== undefined) at = putIdentity(buffer, at, record.identity)
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
