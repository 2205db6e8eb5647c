// Door: computes and checks the checksum at the beginning of every stored row.
//
//   row value   u32le checksum | body
//   checksum    crc32 of: u32 0 | body | u32le crc32 of the key
//
// LevelDB checks nothing when it reads, so only this checksum shows that a byte has changed (D18). A reader
// refuses a row with a wrong checksum with ERR_CORRUPT.
//
// The writer fills the place of the checksum with zeros, and then computes the crc32 of the whole value. The
// reader finds the checksum in this place, so it starts the crc32 with the checksum instead of 0. The result
// is the same, because the crc32 of four bytes depends only on these bytes xor the starting value. The key
// comes last, so that the crc32 of one body can be used for rows with several keys.

import { checksum, elementAt } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { spaceOf } from '../keyspaces.js'
import { u32, writeU32 } from '../little-endian.js'
import { shortChecksum, withWord } from './fast-crc32-of-short-bytes.js'

export const CHECKSUM_BYTES = 4

/** Computes the checksum of a row and writes it into the first bytes of the value. */
export const setChecksum = (key: Uint8Array, value: Uint8Array): number =>
  setChecksumFor(shortChecksum(key), value)

function setChecksumFor(keyChecksum: number, value: Uint8Array): number {
  writeChecksum(value, 0)
  const crc = withWord(checksum(value), keyChecksum)
  writeChecksum(value, crc)
  return crc
}

/**
 * Does the same as `setChecksum` for a value in parts. The first part begins with four bytes for the
 * checksum.
 */
export function setChecksumOfParts(key: Uint8Array, parts: readonly Uint8Array[]): void {
  const first = elementAt(parts, 0)
  writeChecksum(first, 0)
  let crc = 0
  for (const part of parts) crc = checksum(part, crc)
  writeChecksum(first, withWord(crc, shortChecksum(key)))
}

/**
 * Returns the part of the row checksum that does not depend on the key: the crc32 of four zero bytes and
 * `bytes`.
 */
export const bodyChecksum = (bytes: Uint8Array): number => checksum(bytes, OF_ZERO)
const OF_ZERO = checksum(new Uint8Array(CHECKSUM_BYTES))

export const writeChecksum = (value: Uint8Array, crc: number): void => writeU32(value, 0, crc)

export function withChecksum(key: Uint8Array, body: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(CHECKSUM_BYTES + body.length)
  value.set(body, CHECKSUM_BYTES)
  setChecksum(key, value)
  return value
}

export const storedChecksum = (value: Uint8Array): number => u32(value, 0)

/**
 * Computes the checksum that the row should have. The sum starts with the stored checksum, and the same four
 * bytes at the beginning of `value` cancel it out. So the stored checksum does not change the result.
 */
export const rightChecksum = (key: Uint8Array, value: Uint8Array): number =>
  withWord(checksum(value, storedChecksum(value)), shortChecksum(key))

export const isIntact = (key: Uint8Array, value: Uint8Array): boolean =>
  value.length >= CHECKSUM_BYTES && storedChecksum(value) === rightChecksum(key, value)

/** Returns the body of a row without copying it. Throws ERR_CORRUPT if the checksum is wrong. */
export function intactBody(key: Uint8Array, value: Uint8Array): Uint8Array {
  if (!isIntact(key, value)) throw damagedRow(key)
  return value.subarray(CHECKSUM_BYTES)
}

export function damagedRow(key: Uint8Array, cause?: unknown): LatchkeyError {
  const space = spaceOf(key) ?? 'an unknown space'
  const shown = Buffer.from(key.subarray(1, 65)).toString('latin1')
  return new LatchkeyError(
    'ERR_CORRUPT',
    `A stored row is damaged: ${space} ${JSON.stringify(shown)}. Rebuild this member from its peers (latchkey members rebuild), or restore a backup.`,
    cause === undefined ? {} : { cause },
  )
}
