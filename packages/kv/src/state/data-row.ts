// Rule: the row of a key: u32 seal | value | u48le create revision | u48le last revision | u48le version.
// The value is in the middle, so that the whole row can be copied to where its value is needed, without a
// view. The bytes around the value are overwritten there.

import { type EntryResult } from '@latchkey/protocol'
import { SPACE } from '../keyspaces.js'
import { u48, writeU48 } from '../little-endian.js'
import { SEAL, bodyChecksum, writeSeal } from '../storage/row-checksum.js'
import { keyChecksum, withBytes, withWord } from '../storage/short-checksum.js'

/** The bytes after the value. */
export const ROW_TAIL = 18
const CREATED = 18
const MODIFIED = 12
const VERSION = 6

/**
 * The row that a key gets by the command of `revision`. `key` has one byte for each character; `valueSum` is
 * the value's `bodyChecksum`. The value is copied.
 */
export function nextRow(
  key: string,
  revision: number,
  value: Uint8Array,
  before: Uint8Array | undefined,
  valueSum: number = bodyChecksum(value),
): Uint8Array {
  const tail = SEAL + value.length
  const row = Buffer.allocUnsafe(tail + ROW_TAIL)
  row.set(value, SEAL)
  writeU48(row, row.length - CREATED, before === undefined ? revision : createdOf(before))
  writeU48(row, row.length - MODIFIED, revision)
  writeU48(row, row.length - VERSION, before === undefined ? 1 : versionOf(before) + 1)
  writeSeal(row, withWord(withBytes(valueSum, row, tail), keyChecksum(SPACE.data, key)))
  return row
}

export const createdOf = (row: Uint8Array): number => u48(row, row.length - CREATED)
export const modifiedOf = (row: Uint8Array): number => u48(row, row.length - MODIFIED)
export const versionOf = (row: Uint8Array): number => u48(row, row.length - VERSION)
/** The value, as a view of the row. */
export const valueOf = (row: Uint8Array): Uint8Array => row.subarray(SEAL, row.length - ROW_TAIL)
export const valueLength = (row: Uint8Array): number => row.length - SEAL - ROW_TAIL

/** The part of a row that answers and reads show, as views of the row. */
export function entryOf(row: Uint8Array): EntryResult {
  return [createdOf(row), modifiedOf(row), versionOf(row), valueOf(row)]
}
