// Rule: the byte format of the row of a key, with its value, revisions, version, and the ttl or session that
// ends the key.
//
//   row   u32 seal | value | [u48 life] | u48le create revision | u48le last revision | u48le version
//
// The two highest bits of the version tell whether the key has a ttl, belongs to a session, or neither. The
// value is in the middle of the row. So a writer of events can copy the whole row, without making a view of
// the value, and then overwrite the bytes around the value.

import type { EntryResult } from '@latchkey/protocol'
import { SPACE } from '../keyspaces.js'
import { u48, writeU48 } from '../little-endian.js'
import { SEAL, bodyChecksum, writeSeal } from '../storage/stored-row-checksum.js'
import { keyChecksum, withBytes, withWord } from '../storage/checksum-of-short-keys.js'

/** The bytes after the value, in a row without ttl and session. */
const TAIL = 18
const LIFE = 6
/** The most bytes after the value. */
export const ROW_TAIL: number = TAIL + LIFE
const CREATED = 18
const MODIFIED = 12
const VERSION = 6

/**
 * Two flags in the last byte of a row, which is the highest byte of the version. A version is less than 2^46,
 * so its two highest bits are free.
 */
const HAS_LIFE = 0x80
const OF_SESSION = 0x40

/** What ends a key: a cluster time (kind 'due'), or the end of a session. */
export interface Life {
  readonly kind: 'due' | 'session'
  /** The cluster time at which the key expires, or the id of the session. */
  readonly number: number
}

const lastByte = (row: Uint8Array): number => row[row.length - 1] as number
const tailOf = (row: Uint8Array): number => (lastByte(row) >= HAS_LIFE ? TAIL + LIFE : TAIL)

/**
 * Returns the new row of the key after the command with the revision `revision`. `key` has one character for
 * each byte. `valueSum` is the `bodyChecksum` of the value. The row has a copy of the value.
 */
export function nextRow(
  key: string,
  revision: number,
  value: Uint8Array,
  before: Uint8Array | undefined,
  valueSum: number = bodyChecksum(value),
  life?: Life,
): Uint8Array {
  const tail = SEAL + value.length
  const row = Buffer.allocUnsafe(tail + (life === undefined ? TAIL : TAIL + LIFE))
  row.set(value, SEAL)
  writeU48(row, row.length - CREATED, before === undefined ? revision : createdOf(before))
  writeU48(row, row.length - MODIFIED, revision)
  writeU48(row, row.length - VERSION, before === undefined ? 1 : versionOf(before) + 1)
  if (life !== undefined) writeLife(row, tail, life)
  writeSeal(row, withWord(withBytes(valueSum, row, tail), keyChecksum(SPACE.data, key)))
  return row
}

function writeLife(row: Uint8Array, at: number, { kind, number }: Life): void {
  writeU48(row, at, number)
  row[row.length - 1] = lastByte(row) | HAS_LIFE | (kind === 'session' ? OF_SESSION : 0)
}

/** Returns the row with another ttl or session, and with the same value, revisions and version. */
export function withLife(key: string, row: Uint8Array, life: Life): Uint8Array {
  const value = valueOf(row)
  const tail = SEAL + value.length
  const next = Buffer.allocUnsafe(tail + TAIL + LIFE)
  next.set(value, SEAL)
  next.set(row.subarray(row.length - TAIL), tail + LIFE)
  next[next.length - 1] = lastByte(next) & ~(HAS_LIFE | OF_SESSION)
  writeLife(next, tail, life)
  writeSeal(next, withWord(withBytes(bodyChecksum(value), next, tail), keyChecksum(SPACE.data, key)))
  return next
}

export const hasLife = (row: Uint8Array): boolean => lastByte(row) >= HAS_LIFE

export function lifeOf(row: Uint8Array): Life | undefined {
  if (!hasLife(row)) return undefined
  const kind = (lastByte(row) & OF_SESSION) === 0 ? 'due' : 'session'
  return { kind, number: u48(row, row.length - TAIL - LIFE) }
}

export const createdOf = (row: Uint8Array): number => u48(row, row.length - CREATED)
export const modifiedOf = (row: Uint8Array): number => u48(row, row.length - MODIFIED)
export function versionOf(row: Uint8Array): number {
  const version = u48(row, row.length - VERSION)
  return hasLife(row) ? version % 2 ** 46 : version
}
/** The value, as a view of the row. */
export const valueOf = (row: Uint8Array): Uint8Array => row.subarray(SEAL, row.length - tailOf(row))
export const valueLength = (row: Uint8Array): number => row.length - SEAL - tailOf(row)

/**
 * Returns the fields of the row for answers. The value is a view of the row. `now` is the cluster time, for
 * the rest of the ttl.
 */
export function entryOf(row: Uint8Array, now: number): EntryResult {
  const life = lifeOf(row)
  const entry = [createdOf(row), modifiedOf(row), versionOf(row), valueOf(row)] as const
  return life?.kind === 'due' ? [...entry, Math.max(0, Math.floor(life.number - now))] : entry
}

/** Returns true if the bytes have the format of a row of a key, without the checksum. */
export function isDataBody(body: Uint8Array, mostBytes: number): boolean {
  if (body.length < TAIL) return false
  const last = lastByte(body)
  const bytes = body.length - tailOf(body)
  return bytes >= 0 && bytes <= mostBytes && (last < OF_SESSION || last >= HAS_LIFE)
}
