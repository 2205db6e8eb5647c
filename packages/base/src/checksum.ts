// Rule: the one checksum of the house, crc32, chained through its second argument.

import { crc32 } from 'node:zlib'

export function checksum(bytes: Uint8Array, previous = 0): number {
  return crc32(bytes, previous)
}
