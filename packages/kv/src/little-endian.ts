// Rule: reads and writes whole little-endian numbers byte by byte; a call of Buffer's methods would take
// longer than that.
// A number that is wider than its field is cut.

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

/** The caller has checked that all four bytes are there. */
export function u32(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16)
  return low + (bytes[at + 3] as number) * 2 ** 24
}

/** The caller has checked that all six bytes are there. */
export function u48(bytes: Uint8Array, at: number): number {
  return u32(bytes, at) + ((bytes[at + 4] as number) + (bytes[at + 5] as number) * 256) * 2 ** 32
}
