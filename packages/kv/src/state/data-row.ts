// Rule: a key's row: u32 seal | value | u48le create revision | u48le last revision | u48le version. What is not the value stands
// around it, so that a row is copied whole to where its value is wanted, without a view, and what follows is written over the rest.

import { type EntryResult } from '@latchkey/protocol'
import { SPACE } from '../keyspaces.js'
import { SEAL, sealWith } from '../rows/seal.js'
import { keyChecksum } from '../rows/short-crc.js'

/** Behind the value. */
export const ROW_TAIL = 18
const CREATED = 18
const MODIFIED = 12
const VERSION = 6

/** The row that a key gets by the command of `revision`. `key`: a character a byte. The value is copied. */
export function nextRow(
  key: string,
  revision: number,
  value: Uint8Array,
  before: Uint8Array | undefined,
): Uint8Array {
  return before === undefined
    ? encodeData(key, revision, revision, 1, value)
    : encodeData(key, createdOf(before), revision, versionOf(before) + 1, value)
}

function encodeData(
  key: string,
  created: number,
  modified: number,
  version: number,
  value: Uint8Array,
): Uint8Array {
  const end = SEAL + value.length + ROW_TAIL
  const row = Buffer.allocUnsafe(end)
  row.set(value, SEAL)
  writeU48(row, end - CREATED, created)
  writeU48(row, end - MODIFIED, modified)
  writeU48(row, end - VERSION, version)
  sealWith(keyChecksum(SPACE.data, key), row)
  return row
}

function writeU48(row: Uint8Array, at: number, number: number): void {
  const high = Math.floor(number / 2 ** 32)
  row[at] = number
  row[at + 1] = number >>> 8
  row[at + 2] = number >>> 16
  row[at + 3] = number >>> 24
  row[at + 4] = high
  row[at + 5] = high >>> 8
}

const u48 = (row: Uint8Array, at: number): number =>
  (row[at] as number) +
  (row[at + 1] as number) * 2 ** 8 +
  (row[at + 2] as number) * 2 ** 16 +
  (row[at + 3] as number) * 2 ** 24 +
  (row[at + 4] as number) * 2 ** 32 +
  (row[at + 5] as number) * 2 ** 40

export const createdOf = (row: Uint8Array): number => u48(row, row.length - CREATED)
export const modifiedOf = (row: Uint8Array): number => u48(row, row.length - MODIFIED)
export const versionOf = (row: Uint8Array): number => u48(row, row.length - VERSION)
/** A view of the row. */
export const valueOf = (row: Uint8Array): Uint8Array => row.subarray(SEAL, row.length - ROW_TAIL)
export const valueLength = (row: Uint8Array): number => row.length - SEAL - ROW_TAIL

/** What of a row an answer or a read shows; views of the row. */
export function entryOf(row: Uint8Array): EntryResult {
  return [createdOf(row), modifiedOf(row), versionOf(row), valueOf(row)]
}
