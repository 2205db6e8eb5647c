// Door: the checksum of every row. A row's value is u32le seal | body, and its seal is crc32(u32 0 | body | u32le crc32(key)).
// LevelDB checks nothing when it reads, so this is what stands between a flipped bit and a wrong value (D18): a row that fails is
// ERR_CORRUPT, never believed.
//
// The zero stands where the seal does, so that neither side needs a view of the body: what a crc32 makes of four bytes depends only on
// them xor what it began with. The key is last, so that what was summed up of a body is good for more than one row.

import { checksum } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { spaceOf } from '../keyspaces.js'
import { writeU32 } from '../little-endian.js'
import { shortChecksum, withWord } from './short-checksum.js'

export const SEAL = 4

/** Fills in the checksum of a value whose body was written from SEAL on. */
export const seal = (key: Uint8Array, value: Uint8Array): number => sealWith(shortChecksum(key), value)

/** The same, by the checksum of its key. */
export function sealWith(keyChecksum: number, value: Uint8Array): number {
  writeSeal(value, 0)
  const crc = withWord(checksum(value), keyChecksum)
  writeSeal(value, crc)
  return crc
}

/** What a seal begins with: of these bytes behind the zero that stands for it. */
export const bodyChecksum = (bytes: Uint8Array): number => checksum(bytes, OF_ZERO)
const OF_ZERO = checksum(new Uint8Array(SEAL))

export const writeSeal = (value: Uint8Array, crc: number): void => writeU32(value, 0, crc)

export function sealBody(key: Uint8Array, body: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(SEAL + body.length)
  value.set(body, SEAL)
  seal(key, value)
  return value
}

/** The checksum as it stands in the row. */
export const sealOf = (value: Uint8Array): number =>
  ((value[0] as number) |
    ((value[1] as number) << 8) |
    ((value[2] as number) << 16) |
    ((value[3] as number) << 24)) >>>
  0

/** What the seal of a row should be, whatever stands in it. */
export const sealFor = (key: Uint8Array, value: Uint8Array): number =>
  withWord(checksum(value, sealOf(value)), shortChecksum(key))

export const isSealed = (key: Uint8Array, value: Uint8Array): boolean =>
  value.length >= SEAL && sealOf(value) === sealFor(key, value)

/** The body of a row that is what was written; a view. */
export function unseal(key: Uint8Array, value: Uint8Array): Uint8Array {
  if (!isSealed(key, value)) throw damagedRow(key)
  return value.subarray(SEAL)
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
