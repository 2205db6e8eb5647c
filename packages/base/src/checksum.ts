// Rule: the one checksum of this project: crc32. The second argument continues the checksum of earlier bytes.

import { crc32 } from 'node:zlib'

export function checksum(bytes: Uint8Array, previous = 0): number {
  return crc32(bytes, previous)
}
