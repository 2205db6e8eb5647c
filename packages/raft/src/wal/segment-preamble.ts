// Door: the first bytes of a segment: which segment of whose log it is, and to what it is chained.

import { checksum } from '@latchkey/base'
import { getU64, putU64 } from './little-endian-bytes.js'
import { LOG_MAGIC, type Origin, PREAMBLE_BYTES, VERSION } from './disk-format.js'

export interface Preamble extends Origin {
  readonly number: number
  /** The log's offset of the segment's first byte. */
  readonly base: number
  /** Of the last record of the segment before; of the first segment the owner. */
  readonly previous: number
}

export type PreambleRead =
  | { readonly type: 'preamble'; readonly preamble: Preamble; readonly checksum: number }
  | { readonly type: 'damaged' }
  /** Written by a later version of this software, whole. */
  | { readonly type: 'newer'; readonly version: number }

/** Writes it at the buffer's begin, and returns the checksum from which the first record's goes on. */
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
  // These 48 bytes keep their shape in every version, so that an older one can say why it stops.
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
