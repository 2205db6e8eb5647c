// Rule: the checksum of stored data, which is a CRC-32. If `previous` is the checksum of some earlier bytes,
// the result is the checksum of the earlier bytes and `bytes` together.

import { crc32 } from 'node:zlib'

export function checksum(bytes: Uint8Array, previous = 0): number {
  return crc32(bytes, previous)
}

/**
 * Returns the CRC table for `polynomial`, whose bits are in reversed order (0xedb88320 for CRC-32). Callers
 * use the table where zlib is slow (very short texts) or has no function (LevelDB's polynomial).
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
