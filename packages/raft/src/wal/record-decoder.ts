// Door: decodes a record of the log from a segment's bytes. For invalid bytes the functions return a reason,
// and never throw.

import { checksum } from '@latchkey/base'
import type { Entry, GroupId, HardState } from '../core/types.js'
import type { Identity } from './log-types.js'
import { allZeros, getU64, Reader } from './little-endian-bytes.js'
import {
  ALL_PARTS,
  ENTRY_KINDS,
  HEAD,
  NO_VOTE,
  PART,
  RECORD_HEADER_BYTES,
  type RecordKind,
  TURN,
} from './disk-format.js'
import { NOTHING, type Start, type RecordContent } from './log-record-in-memory.js'

export interface RecordRead {
  readonly type: 'record'
  readonly kind: RecordKind
  readonly content: RecordContent
  /** The log's last index after this record, as the record's header states it. */
  readonly lastIndex: number
  readonly checksum: number
  readonly end: number
}

type Read =
  | RecordRead
  /** No record follows: the rest of the file is missing or is all zeros. */
  | { readonly type: 'end' }
  | { readonly type: 'damaged'; readonly reason: string }

interface Expected {
  readonly group: GroupId
  readonly offset: number
  readonly previous: number
}

const damaged = (reason: string): Read => ({ type: 'damaged', reason })

export function readRecord(buffer: Buffer, at: number, expected: Expected): Read {
  if (buffer.length - at < RECORD_HEADER_BYTES) {
    return allZeros(buffer, at) ? { type: 'end' } : damaged('a record that is cut short')
  }
  const length = buffer.readUInt32LE(at + 4)
  // A length of 0 means preallocated space (D15). If other bytes follow the zeros, the file is damaged.
  if (length === 0) return allZeros(buffer, at) ? { type: 'end' } : damaged('no record where one belongs')
  if (length < RECORD_HEADER_BYTES) return damaged('a record with an impossible length')
  const end = at + length
  if (end > buffer.length) return damaged('a record that is cut short')
  const sum = checksum(buffer.subarray(at + 4, end), expected.previous)
  if (sum !== buffer.readUInt32LE(at)) return damaged('a checksum that does not match')
  // The record is whole, but a disk may have written it to a wrong place, or read it from a wrong place
  // (D10).
  if (buffer.readUInt32LE(at + 8) !== expected.group) return damaged('a record of another group')
  if (getU64(buffer, at + 16) !== expected.offset) return damaged('a record of another place')
  return readParts(buffer, at, end, sum)
}

function readParts(buffer: Buffer, at: number, end: number, sum: number): Read {
  const word = buffer.readUInt32LE(at + 12)
  const kind = word & 0xff
  const parts = word >>> 8
  if ((kind !== HEAD && kind !== TURN) || parts > ALL_PARTS) return damaged('a record of an unknown kind')
  const lastIndex = getU64(buffer, at + 24)
  const reader = new Reader(buffer, at + RECORD_HEADER_BYTES, end)
  const content = readContent(reader, parts)
  if (content === undefined || !reader.ok || !reader.done || Number.isNaN(lastIndex)) {
    return damaged('a record whose parts do not fit it')
  }
  return { type: 'record', kind, content, lastIndex, checksum: sum, end }
}

function readContent(reader: Reader, parts: number): RecordContent | undefined {
  const truncateFrom = parts & PART.truncate ? reader.u64() : undefined
  const start = parts & PART.start ? readStart(reader) : undefined
  const entries = parts & PART.entries ? readEntries(reader) : NOTHING.entries
  if (entries === undefined) return undefined
  const hardState = parts & PART.hardState ? readHardState(reader) : undefined
  const identity = parts & PART.identity ? readIdentity(reader) : undefined
  return { truncateFrom, start, entries, hardState, identity }
}

function readStart(reader: Reader): Start {
  const position = { index: reader.u64(), term: reader.u64(), time: reader.f64() }
  return { position, membership: reader.bytes(reader.u32()) }
}

function readEntries(reader: Reader): readonly Entry[] | undefined {
  const first = reader.u64()
  const count = reader.u32()
  const entries: Entry[] = []
  for (let i = 0; i < count && reader.ok; i++) {
    const term = reader.u64()
    const time = reader.f64()
    const length = reader.u32()
    const kind = ENTRY_KINDS[reader.u32()]
    if (kind === undefined) return undefined
    entries.push({ index: first + i, term, time, kind, data: reader.bytes(length) })
  }
  return entries
}

function readHardState(reader: Reader): HardState {
  const term = reader.u64()
  const length = reader.u32()
  return { term, vote: length === NO_VOTE ? undefined : reader.text(length) }
}

function readIdentity(reader: Reader): Identity {
  const clusterId = reader.text(reader.u32())
  const memberId = reader.text(reader.u32())
  return { clusterId, memberId, incarnation: reader.text(reader.u32()) }
}
