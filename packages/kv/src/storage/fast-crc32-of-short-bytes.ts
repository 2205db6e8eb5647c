// Rule: computes the crc32 of short byte strings in JavaScript. For a key, a call of zlib takes ten times as
// long.

import { checksum, checksumTable, fromBinary } from '@latchkey/base'

/** In bytes. For longer strings the call of zlib is faster. */
const SHORT = 64
const TABLE = checksumTable(0xedb88320)

/** Returns the same number as `checksum(bytes)`. */
export function shortChecksum(bytes: Uint8Array): number {
  if (bytes.length > SHORT) return checksum(bytes)
  let crc = -1
  for (let i = 0; i < bytes.length; i++)
    crc = (TABLE[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** Continues the checksum `crc` with the four bytes of `word` in little-endian order. */
export function withWord(crc: number, word: number): number {
  let at = ~crc ^ word
  for (let i = 0; i < 4; i++) at = (TABLE[at & 0xff] as number) ^ (at >>> 8)
  return ~at >>> 0
}

/** Continues the checksum `crc` with `bytes` from index `from` on. */
export function withBytes(crc: number, bytes: Uint8Array, from: number): number {
  let at = ~crc
  for (let i = from; i < bytes.length; i++)
    at = (TABLE[(at ^ (bytes[i] as number)) & 0xff] as number) ^ (at >>> 8)
  return ~at >>> 0
}

/**
 * Returns the checksum of a row's key. The key is the byte `space`, then one byte for each character of
 * `rest`.
 */
export function keyChecksum(space: number, rest: string): number {
  if (rest.length > SHORT) return checksum(fromBinary(rest), checksum(Uint8Array.of(space)))
  let crc = (TABLE[~space & 0xff] as number) ^ (-1 >>> 8)
  for (let i = 0; i < rest.length; i++)
    crc = (TABLE[(crc ^ rest.charCodeAt(i)) & 0xff] as number) ^ (crc >>> 8)
  return ~crc >>> 0
}
