// Rule: encodes values in the part of MessagePack that this project uses: nil, booleans, numbers, text,
// bytes, arrays, maps.
//
// Law: the same value gives the same bytes on every machine and in every version, because members compare the
// bytes of stored answers and log entries.

let scratch = Buffer.allocUnsafeSlow(64 * 1024)
let at = 0
/**
 * In bytes. A larger scratch buffer is released after use. Otherwise one large value would occupy memory for
 * ever.
 */
const KEEP = 1024 * 1024
const SHORT_TEXT = 64

/** The result is a copy. A later call of `pack` does not change its bytes. */
export function pack(value: unknown): Uint8Array {
  at = 0
  write(value)
  const bytes = Buffer.allocUnsafe(at)
  scratch.copy(bytes, 0, 0, at)
  if (scratch.length > KEEP) scratch = Buffer.allocUnsafeSlow(64 * 1024)
  return bytes
}

function room(bytes: number): void {
  if (at + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, at + bytes))
  scratch.copy(larger, 0, 0, at)
  scratch = larger
}

function write(value: unknown): void {
  room(16)
  switch (typeof value) {
    case 'number':
      return writeNumber(value)
    case 'string':
      return writeText(value)
    case 'boolean':
      scratch[at++] = value ? 0xc3 : 0xc2
      return
    case 'undefined':
      scratch[at++] = 0xc0
      return
    case 'object':
      if (value === null) scratch[at++] = 0xc0
      else if (value instanceof Uint8Array) writeBytes(value)
      else if (Array.isArray(value)) writeArray(value)
      else writeMap(value as Record<string, unknown>)
      return
    default:
      throw new TypeError(`a ${typeof value} cannot be put on the wire`)
  }
}

function writeNumber(value: number): void {
  if (value >>> 0 === value && !Object.is(value, -0)) return writeUnsigned(value)
  if ((value | 0) === value && value !== 0) return writeNegative(value)
  scratch[at++] = 0xcb
  at = scratch.writeDoubleBE(value, at)
}

function writeUnsigned(value: number): void {
  if (value < 0x80) scratch[at++] = value
  else if (value < 0x100) {
    scratch[at++] = 0xcc
    scratch[at++] = value
  } else if (value < 0x10000) word16(0xcd, value)
  else word32(0xce, value)
}

function writeNegative(value: number): void {
  if (value >= -32) scratch[at++] = 0x100 + value
  else word32(0xd2, value)
}

function word16(tag: number, value: number): void {
  scratch[at++] = tag
  scratch[at++] = value >>> 8
  scratch[at++] = value
}

function word32(tag: number, value: number): void {
  scratch[at++] = tag
  scratch[at++] = value >>> 24
  scratch[at++] = value >>> 16
  scratch[at++] = value >>> 8
  scratch[at++] = value
}

function writeText(value: string): void {
  if (value.length < SHORT_TEXT && writeAscii(value)) return
  const length = Buffer.byteLength(value)
  room(length + 5)
  if (length < 32) scratch[at++] = 0xa0 | length
  else if (length < 0x100) {
    scratch[at++] = 0xd9
    scratch[at++] = length
  } else if (length < 0x10000) word16(0xda, length)
  else word32(0xdb, length)
  at += scratch.write(value, at, length, 'utf8')
}

/**
 * Writes short ASCII text without a slow call of native code. For other text, this function writes nothing
 * and returns false.
 */
function writeAscii(value: string): boolean {
  const start = at
  const length = value.length
  room(length + 2)
  if (length < 32) scratch[at++] = 0xa0 | length
  else {
    scratch[at++] = 0xd9
    scratch[at++] = length
  }
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i)
    if (code > 0x7f) {
      at = start
      return false
    }
    scratch[at++] = code
  }
  return true
}

function writeBytes(value: Uint8Array): void {
  const length = value.length
  room(length + 5)
  if (length < 0x100) {
    scratch[at++] = 0xc4
    scratch[at++] = length
  } else if (length < 0x10000) word16(0xc5, length)
  else word32(0xc6, length)
  scratch.set(value, at)
  at += length
}

function writeArray(value: readonly unknown[]): void {
  const length = value.length
  if (length < 16) scratch[at++] = 0x90 | length
  else if (length < 0x10000) word16(0xdc, length)
  else word32(0xdd, length)
  for (let i = 0; i < length; i++) write(value[i])
}

function writeMap(value: Record<string, unknown>): void {
  const names = Object.keys(value)
  if (names.length < 16) scratch[at++] = 0x80 | names.length
  else word16(0xde, names.length)
  for (const name of names) {
    room(16)
    writeText(name)
    write(value[name])
  }
}
