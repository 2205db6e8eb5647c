// Door: encodes and decodes the first 48 bytes of a segment, its preamble. The preamble has the segment's
// number, the member and group that it belongs to, and the checksum of the record before the segment.

import { checksum } from '@latchkey/base'
import { getU64, putU64 } from './little-endian-bytes.js'
import { LOG_MAGIC, type LogOwner, PREAMBLE_BYTES, VERSION } from './disk-format.js'

export interface Preamble extends LogOwner {
  readonly number: number
  /**
   * In bytes, the offset of the segment's first byte. Offsets count through all segments, as if they were one
   * file.
   */
  readonly base: number
  /**
   * The checksum of the last record of the previous segment. The first segment has the owner number instead
   * (ownerNumber in disk-format.ts).
   */
  readonly previous: number
}

type PreambleRead =
  | { readonly type: 'preamble'; readonly preamble: Preamble; readonly checksum: number }
  | { readonly type: 'damaged' }
  | { readonly type: 'newer'; readonly version: number }

/** Returns the preamble's checksum, from which the checksum of the first record continues. */
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
  // The preamble has the same form in every version. So an old version can name the version that it does not
  // understand.
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
