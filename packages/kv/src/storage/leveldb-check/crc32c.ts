// Rule: crc32c (Castagnoli), the checksum of LevelDB's files; only used to check them. Latchkey's own files
// have another one.
// It uses eight tables, for eight bytes at a time.

const POLYNOMIAL = 0x82f63b78
const TABLES = makeTables()

function makeTables(): readonly Int32Array[] {
  const tables = Array.from({ length: 8 }, () => new Int32Array(256))
  const first = tables[0] as Int32Array
  for (let i = 0; i < 256; i++) {
    let crc = i
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    first[i] = crc
  }
  for (let t = 1; t < 8; t++) {
    const before = tables[t - 1] as Int32Array
    const table = tables[t] as Int32Array
    for (let i = 0; i < 256; i++) {
      const crc = before[i] as number
      table[i] = (crc >>> 8) ^ (first[crc & 0xff] as number)
    }
  }
  return tables
}

const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
]

/** The checksum of bytes[from, to). */
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

const at8 = (table: Int32Array, index: number): number => table[index & 0xff] as number

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24)

/** LevelDB's mask for a checksum that is stored beside the bytes it covers. */
export function masked(crc: number): number {
  return ((((crc >>> 15) | (crc << 17)) >>> 0) + 0xa282ead8) >>> 0
}
