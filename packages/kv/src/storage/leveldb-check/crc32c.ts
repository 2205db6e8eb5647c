// Rule: computes crc32c (Castagnoli), which is the checksum of LevelDB's files. With eight tables, the loop
// takes eight bytes at a time.

import { checksumTable } from '@latchkey/base'

const T0 = checksumTable(0x82f63b78)
const T1 = withZeros(1)
const T2 = withZeros(2)
const T3 = withZeros(3)
const T4 = withZeros(4)
const T5 = withZeros(5)
const T6 = withZeros(6)
const T7 = withZeros(7)

/** For each value of a byte, the table has the checksum of this byte with `zeros` zero bytes after it. */
function withZeros(zeros: number): Int32Array {
  let table = T0
  for (let i = 0; i < zeros; i++) table = table.map((crc) => (crc >>> 8) ^ at8(T0, crc))
  return table
}

export function crc32c(bytes: Uint8Array, from: number, to: number): number {
  let crc = -1
  let at = from
  for (; at + 8 <= to; at += 8) {
    const a = crc ^ word(bytes, at)
    const b = word(bytes, at + 4)
    crc =
      at8(T7, a) ^
      at8(T6, a >>> 8) ^
      at8(T5, a >>> 16) ^
      at8(T4, a >>> 24) ^
      at8(T3, b) ^
      at8(T2, b >>> 8) ^
      at8(T1, b >>> 16) ^
      at8(T0, b >>> 24)
  }
  for (; at < to; at++) crc = (crc >>> 8) ^ at8(T0, crc ^ (bytes[at] as number))
  return ~crc >>> 0
}

function at8(table: Int32Array, index: number): number {
  return table[index & 0xff] as number
}

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24)

/** LevelDB's files have checksums in this form. */
export function masked(crc: number): number {
  return ((((crc >>> 15) | (crc << 17)) >>> 0) + 0xa282ead8) >>> 0
}
