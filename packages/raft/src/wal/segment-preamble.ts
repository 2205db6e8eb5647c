// Door: encodes and decodes the first bytes of a segment, called its preamble: whose log the segment belongs
// to, its number, and the checksum that it continues.

import { checksum } from '@latchkey/base'
import { getU64, putU64 } from './little-endian-bytes.js'
import { LOG_MAGIC, type Origin, PREAMBLE_BYTES, VERSION } from './disk-format.js'

export interface Preamble extends Origin {
  readonly number: number
  /** The offset in the log of the segment's first byte. */
  readonly base: number
  /**
   * The checksum of the last record of the previous segment. In the first segment it is the number of the
   * owner.
   */
  readonly previous: number
}

export type PreambleRead =
  | { readonly type: 'preamble'; readonly preamble: Preamble; readonly checksum: number }
  | { readonly type: 'damaged' }
  /** A valid preamble that a later version of this software has written. */
  | { readonly type: 'newer'; readonly version: number }

/**
 * Writes the preamble at the start of the buffer, and returns the checksum that the first record continues.
 */
export function putPreamble(buffer: Buffer, preamble: Preamble): number {
  buffer.write(LOG_MAGIC, 0, 'latin1')
  buffer.writeUInt32LE(VERSION, 8)
  buffer.writeUInt32LE(preamble.group, 12)
  buffer.writeUInt32LE(preamble.owner, 16)
  buffer.writeUInt32LE(preamble.previous, 20)
  putU64(buffer, 24, preamble.number)
  putU64(buffer, 32, preamble.base)
  buffer.writeUInt32LE(0, 40)
  const sum = checksum(buffer.subarray(0, 44))
  buffer.writeUInt32LE(sum, 44)
  return sum
}

export function readPreamble(buffer: Buffer): PreambleRead {
  if (buffer.length < PREAMBLE_BYTES) return { type: 'damaged' }
  if (buffer.toString('latin1', 0, 8) !== LOG_MAGIC) return { type: 'damaged' }
  const sum = buffer.readUInt32LE(44)
  if (checksum(buffer.subarray(0, 44)) !== sum) return { type: 'damaged' }
  const version = buffer.readUInt32LE(8)
  // These 48 bytes have the same form in every version, so that an older version can say why it stops.
  if (version !== VERSION) return { type: 'newer', version }
  const preamble = {
    group: buffer.readUInt32LE(12),
    owner: buffer.readUInt32LE(16),
    previous: buffer.readUInt32LE(20),
    number: getU64(buffer, 24),
    base: getU64(buffer, 32),
  }
  return { type: 'preamble', preamble, checksum: sum }
}
