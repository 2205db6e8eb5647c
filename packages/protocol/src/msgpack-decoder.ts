// Door: decodes MessagePack from outside into plain values. Every input gives a value or throws a Malformed.
// The decoder needs memory in proportion to the length of the input.
//
// Laws:
// - The count of an array or map is accepted only if enough bytes for that many values are left. The depth is
//   limited. Nothing may follow the value.
// - The number of values is limited. Without this law, a frame of 16 MiB could have an empty list in each
//   byte. The lists would take fifty times as much memory, and a member would stand still for two seconds.
// - Only the types that this project uses are decoded. So no sender can make the decoder build, compile or
//   look up anything else.
// - A map is refused, except in answers that may have maps. Without this law, a stranger could send
//   {toString: 1, valueOf: 1} in place of a number. An error message would show the value, String(value)
//   would throw a TypeError, and the process would end.
// - A map with a key that every object has, such as toString, is refused. So a decoded map keeps the methods
//   that every object has.

import { EMPTY, utf8Between } from '@latchkey/base'
import { CAPS } from './fixed-limits.js'

export class Malformed extends Error {
  override readonly name = 'Malformed'
}

const MAX_DEPTH = 16

const NO_OPTIONS: UnpackOptions = {}
/** Some answers to clients contain maps, and some contain more values than a request may. */
export const OF_ANSWERS: UnpackOptions = { maps: true, most: CAPS.answerValues }
/**
 * Only an array of at most this many elements is allocated with its stated length. A longer array grows while
 * its elements are read, so a false length costs no memory.
 */
const FEW = 32

let source = EMPTY
/** The ArrayBuffer of `source`, stored here because each access to `source.buffer` is slow. */
let memory = EMPTY.buffer
let offset = 0
let at = 0
let depth = 0
let mapsAllowed = false
let valuesLeft = 0
const float = new Float64Array(1)
const floatBytes = new Uint8Array(float.buffer)

export interface UnpackOptions {
  readonly maps?: boolean
  readonly most?: number
}

/** Byte values in the result are views of `bytes`, so a caller must copy the byte values that it keeps. */
export function unpack(bytes: Uint8Array, options: UnpackOptions = NO_OPTIONS): unknown {
  const { maps = false, most = CAPS.values } = options
  source = bytes
  memory = source.buffer
  offset = source.byteOffset
  at = 0
  depth = 0
  mapsAllowed = maps
  valuesLeft = most
  const value = read()
  const rest = bytes.length - at
  source = EMPTY
  memory = EMPTY.buffer
  if (rest !== 0) throw new Malformed(`${rest} bytes too many`)
  return value
}

function read(): unknown {
  const tag = byte()
  if (tag < 0x80) return tag
  if (tag < 0x90) return readMap(tag & 0x0f)
  if (tag < 0xa0) return readArray(tag & 0x0f)
  if (tag < 0xc0) return readText(tag & 0x1f)
  if (tag >= 0xe0) return tag - 0x100
  return readTagged(tag)
}

function readTagged(tag: number): unknown {
  switch (tag) {
    case 0xc0:
      return null
    case 0xc2:
      return false
    case 0xc3:
      return true
    case 0xc4:
      return readBytes(byte())
    case 0xc5:
      return readBytes(word16())
    case 0xc6:
      return readBytes(word32())
    case 0xd9:
      return readText(byte())
    case 0xda:
      return readText(word16())
    case 0xdb:
      return readText(word32())
    case 0xdc:
      return readArray(word16())
    case 0xdd:
      return readArray(word32())
    case 0xde:
      return readMap(word16())
    default:
      return readNumber(tag)
  }
}

function readNumber(tag: number): number {
  switch (tag) {
    case 0xca:
      return bigEndian(4).getFloat32(0)
    case 0xcb:
      return readDouble()
    case 0xcc:
      return byte()
    case 0xcd:
      return word16()
    case 0xce:
      return word32()
    case 0xcf:
      return safe(word32(), word32())
    case 0xd0:
      return (byte() << 24) >> 24
    case 0xd1:
      return (word16() << 16) >> 16
    case 0xd2:
      return word32() | 0
    case 0xd3:
      return safe(word32() | 0, word32())
    default:
      throw new Malformed(`a value of unknown kind ${tag}`)
  }
}

function byte(): number {
  const value = source[at++]
  if (value === undefined) throw new Malformed('it ends too early')
  return value
}

function word16(): number {
  return (byte() << 8) | byte()
}

function word32(): number {
  return ((byte() << 24) | (byte() << 16) | (byte() << 8) | byte()) >>> 0
}

function safe(high: number, low: number): number {
  const value = high * 2 ** 32 + low
  if (!Number.isSafeInteger(value)) throw new Malformed('a number beyond 2^53')
  return value
}

function bigEndian(length: number): DataView {
  const start = take(length)
  return new DataView(memory, offset + start, length)
}

function readDouble(): number {
  const start = take(8)
  for (let i = 0; i < 8; i++) floatBytes[7 - i] = source[start + i] as number
  return float[0] as number
}

/** Skips `length` bytes and returns the offset of the first of them. */
function take(length: number): number {
  const start = at
  if (length > source.length - start) throw new Malformed('it ends too early')
  at = start + length
  return start
}

function readBytes(length: number): Uint8Array {
  return new Uint8Array(memory, offset + take(length), length)
}

/** Bytes that are not UTF-8 become U+FFFD. All members decode such bytes in the same way. */
function readText(length: number): string {
  const start = take(length)
  return utf8Between(source, start, at)
}

/** Refuses a count that is larger than the rest of the bytes, because each value takes at least one byte. */
function count(values: number): void {
  if (values > source.length - at) throw new Malformed('it ends too early')
  valuesLeft -= values
  if (valuesLeft < 0) throw new Malformed('more values than there may be')
}

function readArray(length: number): unknown[] {
  count(length)
  if (++depth > MAX_DEPTH) throw new Malformed('nested too deep')
  const list = length <= FEW ? new Array<unknown>(length) : []
  for (let i = 0; i < length; i++) list[i] = read()
  depth--
  return list
}

function readMap(length: number): Record<string, unknown> {
  if (!mapsAllowed) throw new Malformed('a map where none belongs')
  count(length * 2)
  if (++depth > MAX_DEPTH) throw new Malformed('nested too deep')
  const map: Record<string, unknown> = {}
  for (let i = 0; i < length; i++) {
    const name = read()
    if (typeof name !== 'string' || name in Object.prototype) throw new Malformed('a map with a bad name')
    map[name] = read()
  }
  depth--
  return map
}
