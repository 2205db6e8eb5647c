// Rule: the byte format of the row of a key, with its value, revisions, version, and the ttl or session that
// ends the key.
//
//   row   u32 checksum | value | [u48 expiry] | u48le create revision | u48le last revision | u48le version
//
// The two highest bits of the version are flags: whether the row has an expiry, and whether the expiry is the
// end of a session. The value is in the middle, so that a writer of events can copy the whole row, and then
// overwrite the bytes around the value.

import type { EntryResult } from '@latchkey/protocol'
import { SPACE } from '../keyspaces.js'
import { u48, writeU48 } from '../little-endian.js'
import { CHECKSUM_BYTES, bodyChecksum, writeChecksum } from '../storage/stored-row-checksum.js'
import { keyChecksum, withBytes, withWord } from '../storage/fast-crc32-of-short-bytes.js'

/** In bytes, the length of the fields after the value, in a row without an expiry. */
const TAIL = 18
const EXPIRY_BYTES = 6
export const ROW_TAIL: number = TAIL + EXPIRY_BYTES
const CREATED = 18
const MODIFIED = 12
const VERSION = 6

/**
 * Two flags in the last byte of a row, which is the highest byte of the version. A version is less than 2^46,
 * so its two highest bits are free.
 */
const HAS_EXPIRY = 0x80
const OF_SESSION = 0x40

/** What ends the key: a cluster time (kind 'due'), or the end of a session. */
export interface Expiry {
  readonly kind: 'due' | 'session'
  /** The cluster time at which the key expires, or the id of the session. */
  readonly number: number
}

const lastByte = (row: Uint8Array): number => row[row.length - 1] as number
const tailOf = (row: Uint8Array): number => (lastByte(row) >= HAS_EXPIRY ? TAIL + EXPIRY_BYTES : TAIL)

/**
 * Returns the new row of the key after the command with the revision `revision`. `before` is the row before
 * the command. `key` has one character for each byte. `valueSum` is the `bodyChecksum` of the value. The row
 * has a copy of the value.
 */
export function nextRow(
  key: string,
  revision: number,
  value: Uint8Array,
  before: Uint8Array | undefined,
  valueSum: number = bodyChecksum(value),
  expiry?: Expiry,
): Uint8Array {
  const tail = CHECKSUM_BYTES + value.length
  const row = Buffer.allocUnsafe(tail + (expiry === undefined ? TAIL : TAIL + EXPIRY_BYTES))
  row.set(value, CHECKSUM_BYTES)
  writeU48(row, row.length - CREATED, before === undefined ? revision : createdOf(before))
  writeU48(row, row.length - MODIFIED, revision)
  writeU48(row, row.length - VERSION, before === undefined ? 1 : versionOf(before) + 1)
  if (expiry !== undefined) writeExpiry(row, tail, expiry)
  writeChecksum(row, withWord(withBytes(valueSum, row, tail), keyChecksum(SPACE.data, key)))
  return row
}

function writeExpiry(row: Uint8Array, at: number, { kind, number }: Expiry): void {
  writeU48(row, at, number)
  row[row.length - 1] = lastByte(row) | HAS_EXPIRY | (kind === 'session' ? OF_SESSION : 0)
}

export function withExpiry(key: string, row: Uint8Array, expiry: Expiry): Uint8Array {
  const value = valueOf(row)
  const tail = CHECKSUM_BYTES + value.length
  const next = Buffer.allocUnsafe(tail + TAIL + EXPIRY_BYTES)
  next.set(value, CHECKSUM_BYTES)
  next.set(row.subarray(row.length - TAIL), tail + EXPIRY_BYTES)
  next[next.length - 1] = lastByte(next) & ~(HAS_EXPIRY | OF_SESSION)
  writeExpiry(next, tail, expiry)
  writeChecksum(next, withWord(withBytes(bodyChecksum(value), next, tail), keyChecksum(SPACE.data, key)))
  return next
}

export const hasExpiry = (row: Uint8Array): boolean => lastByte(row) >= HAS_EXPIRY

export function expiryOf(row: Uint8Array): Expiry | undefined {
  if (!hasExpiry(row)) return undefined
  const kind = (lastByte(row) & OF_SESSION) === 0 ? 'due' : 'session'
  return { kind, number: u48(row, row.length - TAIL - EXPIRY_BYTES) }
}

export const createdOf = (row: Uint8Array): number => u48(row, row.length - CREATED)
export const modifiedOf = (row: Uint8Array): number => u48(row, row.length - MODIFIED)
export function versionOf(row: Uint8Array): number {
  const version = u48(row, row.length - VERSION)
  return hasExpiry(row) ? version % 2 ** 46 : version
}
export const valueOf = (row: Uint8Array): Uint8Array => row.subarray(CHECKSUM_BYTES, row.length - tailOf(row))
export const valueLength = (row: Uint8Array): number => row.length - CHECKSUM_BYTES - tailOf(row)

/**
 * Returns the fields of the row for answers. The value is a view of the row. `now` is the cluster time, from
 * which the rest of the ttl is computed.
 */
export function entryOf(row: Uint8Array, now: number): EntryResult {
  const expiry = expiryOf(row)
  const entry = [createdOf(row), modifiedOf(row), versionOf(row), valueOf(row)] as const
  return expiry?.kind === 'due' ? [...entry, Math.max(0, Math.floor(expiry.number - now))] : entry
}

/** Returns true if the bytes have the format of a row of a key, without the checksum. */
export function isDataBody(body: Uint8Array, mostBytes: number): boolean {
  if (body.length < TAIL) return false
  const last = lastByte(body)
  const bytes = body.length - tailOf(body)
  return bytes >= 0 && bytes <= mostBytes && (last < OF_SESSION || last >= HAS_EXPIRY)
}
