// Door: the checksum of every row. A row's value is u32le crc32(key, body) | body. LevelDB checks nothing when it reads, so this
// is what stands between a flipped bit and a wrong value (D18): a row that fails is ERR_CORRUPT, never believed.

import { checksum } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { spaceOf } from '../keyspaces.js'

export const SEAL = 4

/** Fills in the checksum of a value whose body was written from SEAL on. */
export function seal(key: Uint8Array, value: Uint8Array): number {
  const crc = checksum(value.subarray(SEAL), checksum(key))
  value[0] = crc
  value[1] = crc >>> 8
  value[2] = crc >>> 16
  value[3] = crc >>> 24
  return crc
}

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

export function isSealed(key: Uint8Array, value: Uint8Array): boolean {
  return value.length >= SEAL && sealOf(value) === checksum(value.subarray(SEAL), checksum(key))
}

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
