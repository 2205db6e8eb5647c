// Rule: reads and writes little-endian numbers byte by byte, which is faster than Buffer's methods. A number
// that is too wide for its field loses its high bytes.

export function writeU16(into: Uint8Array, at: number, number: number): void {
  into[at] = number
  into[at + 1] = number >>> 8
}

export function writeU32(into: Uint8Array, at: number, number: number): void {
  into[at] = number
  into[at + 1] = number >>> 8
  into[at + 2] = number >>> 16
  into[at + 3] = number >>> 24
}

export function writeU48(into: Uint8Array, at: number, number: number): void {
  writeU32(into, at, number)
  writeU16(into, at + 4, Math.floor(number / 2 ** 32))
}

/** The caller has checked that the four bytes exist. */
export function u32(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16)
  return low + (bytes[at + 3] as number) * 2 ** 24
}

/** The caller has checked that the six bytes exist. */
export function u48(bytes: Uint8Array, at: number): number {
  return u32(bytes, at) + ((bytes[at + 4] as number) + (bytes[at + 5] as number) * 256) * 2 ** 32
}
