// Rule: a key's row: u32 seal | u48le create revision | u48le last revision | u48le version | value.

import { type EntryResult } from '@latchkey/protocol'
import { SEAL, seal } from '../rows/seal.js'

const CREATED = SEAL
const MODIFIED = SEAL + 6
const VERSION = SEAL + 12
const VALUE = SEAL + 18

/** The value is copied. */
export function encodeData(
  rowKey: Uint8Array,
  created: number,
  modified: number,
  version: number,
  value: Uint8Array,
): Uint8Array {
  const row = Buffer.allocUnsafe(VALUE + value.length)
  row.writeUIntLE(created, CREATED, 6)
  row.writeUIntLE(modified, MODIFIED, 6)
  row.writeUIntLE(version, VERSION, 6)
  row.set(value, VALUE)
  seal(rowKey, row)
  return row
}

const u48 = (row: Uint8Array, at: number): number =>
  (row[at] as number) +
  (row[at + 1] as number) * 2 ** 8 +
  (row[at + 2] as number) * 2 ** 16 +
  (row[at + 3] as number) * 2 ** 24 +
  (row[at + 4] as number) * 2 ** 32 +
  (row[at + 5] as number) * 2 ** 40

export const createdOf = (row: Uint8Array): number => u48(row, CREATED)
export const modifiedOf = (row: Uint8Array): number => u48(row, MODIFIED)
export const versionOf = (row: Uint8Array): number => u48(row, VERSION)
/** A view of the row. */
export const valueOf = (row: Uint8Array): Uint8Array => row.subarray(VALUE)

/** What of a row an answer or a read shows; views of the row. */
export function entryOf(row: Uint8Array): EntryResult {
  return [createdOf(row), modifiedOf(row), versionOf(row), valueOf(row)]
}
