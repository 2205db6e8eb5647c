// Rule: the checksum of this project: crc32. The second argument continues the checksum of earlier bytes.
// Very short texts, and the other polynomial that LevelDB uses, are summed with a table instead of zlib.

import { crc32 } from 'node:zlib'

export function checksum(bytes: Uint8Array, previous = 0): number {
  return crc32(bytes, previous)
}

/**
 * Returns a table with the checksum of each possible byte. The bits of `polynomial` are reversed: 0xedb88320
 * is the polynomial of crc32.
 */
export function checksumTable(polynomial: number): Int32Array {
  const table = new Int32Array(256)
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
    table[byte] = crc
  }
  return table
}
