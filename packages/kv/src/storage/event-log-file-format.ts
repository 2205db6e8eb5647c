// Door: the byte format of the event log: files beside LevelDB for rows that are removed in the order in
// which they were added.
//
//   file    rows-journal-<number>          header | frame | frame ...
//   header  'LATCHROW' | u32le version | u32le number | f64le length of the file before
//           | u32le checksum of the last frame of the file before | u32le crc32 of the fields up to here
//   frame   u32le checksum | u32le length of the table | table | values, one after the other
//   table   for each row: u32le length of the value (0xffffffff: the row is removed)
//           | u16le length of the key | key | the checksum with which the value begins
//           (absent if the row is removed)
//
// The checksum of a frame is a crc32 of the bytes between the checksum and the values. The calculation
// continues from the checksum of the frame before. The first frame continues from the checksum of the header.
// Values are rows that begin with checksums of their own (stored-row-checksum.ts). The checksum of the frame
// covers these row checksums. So every byte is covered, and the values need no second checksum.
//
// One frame has the rows of events of one batch. The other rows of the batch go to LevelDB, together with the
// valid end. The valid end is a row of LevelDB that says up to which byte the event log is valid:
//
//   key     0x00 'j'
//   value   the row's checksum | u32le number of the first file in use | u32le number of the last file
//           | f64le valid length of the last file | u32le checksum of its last frame
//
// The checksums prove that all bytes up to the valid end are as they were written. A start ignores the bytes
// after the valid end, because the batch that wrote them was interrupted.

import { checksum } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import type { Row, RowChange } from './row-store-interface.js'
import { valueBytes } from './join-parts-of-row-value.js'
import { CHECKSUM_BYTES, isIntact, setChecksum, storedChecksum, intactBody } from './stored-row-checksum.js'

const MAGIC = 'LATCHROW'
const VERSION = 1
export const HEADER_BYTES = 32
const FRAME_HEAD = 8
const ROW_HEAD = 6
const ROW_CHECKSUM_BYTES = 4
const REMOVED = 0xffffffff

export interface ValidEnd {
  /** The numbers of the oldest file with a row in use, and of the file that is being written. */
  readonly first: number
  readonly last: number
  /** In bytes, the valid length of the last file. */
  readonly end: number
  readonly checksum: number
}

export const VALID_END_KEY: Uint8Array = Uint8Array.of(0, 0x6a)

export function encodeValidEnd({ first, last, end, checksum }: ValidEnd): Row {
  const value = Buffer.allocUnsafe(CHECKSUM_BYTES + 20)
  value.writeUInt32LE(first, CHECKSUM_BYTES)
  value.writeUInt32LE(last, CHECKSUM_BYTES + 4)
  value.writeDoubleLE(end, CHECKSUM_BYTES + 8)
  value.writeUInt32LE(checksum, CHECKSUM_BYTES + 16)
  setChecksum(VALID_END_KEY, value)
  return { key: VALID_END_KEY, value }
}

export function decodeValidEnd(value: Uint8Array): ValidEnd {
  const body = Buffer.from(intactBody(VALID_END_KEY, value))
  return {
    first: body.readUInt32LE(0),
    last: body.readUInt32LE(4),
    end: body.readDoubleLE(8),
    checksum: body.readUInt32LE(16),
  }
}

export interface Header {
  readonly number: number
  readonly previous: { readonly end: number; readonly checksum: number }
}

/** The last four bytes are the checksum of the header. */
export function encodeHeader({ number, previous }: Header): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(MAGIC, 0, 'latin1')
  header.writeUInt32LE(VERSION, 8)
  header.writeUInt32LE(number, 12)
  header.writeDoubleLE(previous.end, 16)
  header.writeUInt32LE(previous.checksum, 24)
  header.writeUInt32LE(checksum(header.subarray(0, 28)), 28)
  return header
}

export const headerChecksum = (header: Buffer): number => header.readUInt32LE(28)

/** Returns undefined if the bytes are not a header. */
export function decodeHeader(bytes: Buffer): Header | undefined {
  if (bytes.length < HEADER_BYTES || bytes.toString('latin1', 0, 8) !== MAGIC) return undefined
  if (headerChecksum(bytes) !== checksum(bytes.subarray(0, 28))) return undefined
  const version = bytes.readUInt32LE(8)
  if (version !== VERSION) {
    throw new LatchkeyError(
      'ERR_CORRUPT',
      `The event log of rows is of format ${version}, which this version does not read. Start the version that wrote it.`,
    )
  }
  const previous = { end: bytes.readDoubleLE(16), checksum: bytes.readUInt32LE(24) }
  return { number: bytes.readUInt32LE(12), previous }
}

interface Frame {
  /** The bytes of the frame, in pieces that are written one after the other. */
  readonly parts: readonly Uint8Array[]
  readonly length: number
  readonly checksum: number
  /** For each row, the offset in the frame at which the row's value begins. */
  readonly values: readonly number[]
}

export function encodeFrame(rows: readonly RowChange[], previous: number): Frame {
  const head = Buffer.allocUnsafe(FRAME_HEAD + rows.reduce((sum, row) => sum + tableBytes(row), 0))
  const parts: Uint8Array[] = [head]
  const values: number[] = []
  let at = FRAME_HEAD
  let length = head.length
  for (const row of rows) {
    at = writeTable(head, at, row)
    values.push(length)
    if (row.value === undefined) continue
    parts.push(row.value, ...(row.rest ?? []))
    length += valueBytes(row)
  }
  head.writeUInt32LE(head.length - FRAME_HEAD, 4)
  const sum = checksum(head.subarray(4), previous)
  head.writeUInt32LE(sum, 0)
  return { parts, length, checksum: sum, values }
}

const tableBytes = ({ key, value }: RowChange): number =>
  ROW_HEAD + key.length + (value === undefined ? 0 : ROW_CHECKSUM_BYTES)

function writeTable(into: Buffer, at: number, row: RowChange): number {
  const { key, value } = row
  into.writeUInt32LE(value === undefined ? REMOVED : valueBytes(row), at)
  into.writeUInt16LE(key.length, at + 4)
  into.set(key, at + ROW_HEAD)
  const end = at + ROW_HEAD + key.length
  return value === undefined ? end : into.writeUInt32LE(storedChecksum(value), end)
}

/**
 * Called with the key of each row, and the offset of its value in the file. A length of -1 means that the row
 * is removed.
 */
type RowSeen = (key: Uint8Array, at: number, length: number) => void

/** Returns the checksum of the last frame, or undefined if a frame is damaged. */
export function readFrames(file: Buffer, seen: RowSeen): number | undefined {
  let previous = headerChecksum(file)
  for (let at = HEADER_BYTES; at < file.length; ) {
    if (at + FRAME_HEAD > file.length) return undefined
    const values = at + FRAME_HEAD + file.readUInt32LE(at + 4)
    if (values > file.length) return undefined
    previous = checksum(file.subarray(at + 4, values), previous)
    if (previous !== file.readUInt32LE(at)) return undefined
    const end = readRows(file, at + FRAME_HEAD, values, seen)
    if (end === undefined) return undefined
    at = end
  }
  return previous
}

/**
 * Reads the rows of a frame whose checksum is right. The checksum of the frame does not cover the values, so
 * each value is checked here. Returns the offset at which the values end, or undefined if a value is damaged
 * or incomplete.
 */
function readRows(file: Buffer, start: number, end: number, seen: RowSeen): number | undefined {
  let valueAt = end
  for (let at = start; at < end; ) {
    const length = file.readUInt32LE(at)
    const keyEnd = at + ROW_HEAD + file.readUInt16LE(at + 4)
    const key = file.subarray(at + ROW_HEAD, keyEnd)
    if (length === REMOVED) {
      seen(key, valueAt, -1)
      at = keyEnd
      continue
    }
    const value = file.subarray(valueAt, valueAt + length)
    if (
      value.length !== length ||
      !isIntact(key, value) ||
      storedChecksum(value) !== file.readUInt32LE(keyEnd)
    )
      return undefined
    seen(key, valueAt, length)
    at = keyEnd + ROW_CHECKSUM_BYTES
    valueAt += length
  }
  return valueAt
}
