// Door: encodes and decodes the values of `as: 'msgpack'` with msgpackr. Dates, Maps, Sets, typed arrays and
// bigints are decoded to the same types.
//
// Law (VA1): stored bytes may come from an attacker, so this file checks the bytes before msgpackr gets them.
// The check compares each length with the rest of the bytes, limits the depth, and accepts only extensions
// that `packValue` writes. Without this law, an attacker with the right to write could put a few bytes that
// define one of msgpackr's records. Every reader would then compile a function that the attacker chose. Or
// the attacker could put a value that contains itself, and every reader would read without end.
//
// Law (VA2): a value is either stored completely or refused. A value that MessagePack cannot represent gives
// a TypeError that names the value.

import { Packr, addExtension } from 'msgpackr/pack'
import { show } from './value-in-errors.js'

/**
 * Contains the entries of a Map for msgpackr. Without this extension, msgpackr would decode a Map as a plain
 * object.
 */
class MapEntries {
  readonly entries: readonly unknown[]

  constructor(entries: readonly unknown[]) {
    this.entries = entries
  }
}

/**
 * The type of the extension for a Map, the letter 'M'. MessagePack leaves the types 0 to 127 to applications.
 */
const MAP = 0x4d
addExtension({
  Class: MapEntries,
  type: MAP,
  write: (map: MapEntries) => map.entries,
  read: (entries: unknown) => new Map(entries as [unknown, unknown][]),
})

const packer = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  moreTypes: true,
  structuredClone: false,
  copyBuffers: true,
})

const DEPTH = 200

/** The returned bytes share no memory with msgpackr's buffer. */
export function packValue(value: unknown, name: string): Uint8Array {
  return new Uint8Array(packer.pack(packable(value, name, 0)))
}

/**
 * Returns a value that msgpackr can encode, usually the given value itself. Throws a TypeError if the value
 * cannot be stored.
 */
function packable(value: unknown, name: string, depth: number): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') throw unfit(name, `a ${typeof value}`)
  if (typeof value !== 'object' || value === null) return value
  if (depth === DEPTH) throw unfit(name, `deeper than ${DEPTH} levels, or contains itself`)
  if (Array.isArray(value)) return mapped(value, (item, at) => packable(item, `${name}[${at}]`, depth + 1))
  if (value instanceof Error) throw unfit(name, 'an Error: put what you want to know of it')
  if (value instanceof Map) return new MapEntries(pairs(value, name, depth))
  if (value instanceof Set)
    return new Set([...value].map((item, at) => packable(item, `${name}, item ${at}`, depth + 1)))
  if (isPlainBytes(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (ArrayBuffer.isView(value) || KEPT.some((kind) => value instanceof kind)) return value
  if (hasToJson(value)) return packable(value.toJSON(), name, depth + 1)
  return packableObject(value as Record<string, unknown>, name, depth)
}

/**
 * True for a Uint8Array that is not of a subclass. Such a value is encoded without an extension, so that
 * programs in other languages can read the value.
 */
const isPlainBytes = (value: object): value is Uint8Array => value.constructor === Uint8Array
const KEPT = [Date, RegExp, ArrayBuffer]
const hasToJson = (value: object): value is { toJSON(): unknown } =>
  typeof (value as { toJSON?: unknown }).toJSON === 'function'

function pairs(map: ReadonlyMap<unknown, unknown>, name: string, depth: number): unknown[] {
  return [...map].map(([key, value], at) => [
    packable(key, `${name}, key ${at}`, depth + 2),
    packable(value, `${name}, entry ${at}`, depth + 2),
  ])
}

function packableObject(value: Record<string, unknown>, name: string, depth: number): unknown {
  let copy: Record<string, unknown> | undefined
  for (const key of Object.keys(value)) {
    // msgpackr would write a property with the name __proto__ under another name.
    if (key === '__proto__') throw unfit(name, 'a property with the name __proto__')
    const part = packable(value[key], `${name}.${key.slice(0, 64)}`, depth + 1)
    if (part !== value[key]) {
      copy ??= { ...value }
      copy[key] = part
    }
  }
  return copy ?? value
}

/** Applies `change` to each element. Returns the given array itself if `change` has changed no element. */
function mapped(
  list: readonly unknown[],
  change: (item: unknown, at: number) => unknown,
): readonly unknown[] {
  const changed = list.map(change)
  return changed.some((item, at) => item !== list[at]) ? changed : list
}

const unfit = (name: string, what: string) =>
  new TypeError(`${name} cannot be stored as msgpack: it is or has ${what}`)

/** Throws a TypeError if the bytes are incomplete, or if `packValue` does not write such bytes. */
export function unpackValue(bytes: Uint8Array): unknown {
  walk(bytes)
  // msgpackr gets a Uint8Array. From a Buffer, msgpackr would return byte values as Buffers.
  return packer.unpack(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))
}

// ---- Checking the bytes

/** The extensions that `packValue` writes: undefined, Date, Set, typed arrays, bigint, RegExp, Map. */
const EXTENSIONS: ReadonlySet<number> = new Set([0x00, 0xff, 0x73, 0x74, 0x42, 0x78, MAP])
/** An extension of these types has one byte of data, and a value follows the byte. */
const TAGS: ReadonlySet<number> = new Set([0x73, 0x78, MAP])

function walk(bytes: Uint8Array): void {
  const reader = new Walker(bytes)
  reader.value()
  while (reader.open.length > 0) reader.next()
  if (reader.at !== bytes.length) throw malformed('there is more behind the value')
}

const malformed = (why: string) => new TypeError(`no MessagePack of a value: ${why}`)

class Walker {
  at = 0
  /** How many values each open array or map still needs, the outermost first. */
  readonly open: number[] = []
  readonly #bytes: Uint8Array
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  next(): void {
    const last = this.open.length - 1
    const lacks = this.open[last] as number
    if (lacks === 0) this.open.pop()
    else {
      this.open[last] = lacks - 1
      this.value()
    }
  }

  value(): void {
    const head = this.#number(1)
    if (head < 0x80 || head >= 0xe0) return
    if (head < 0x90) return this.#enter(2 * (head & 0x0f))
    if (head < 0xa0) return this.#enter(head & 0x0f)
    if (head < 0xc0) return this.#skip(head & 0x1f)
    if (head === 0xc1) throw malformed('0xc1 is no value')
    if (head <= 0xc3) return
    if (head <= 0xc6) return this.#skip(this.#number(1 << (head - 0xc4)))
    if (head <= 0xc9) return this.#extension(this.#number(1 << (head - 0xc7)))
    if (head <= 0xcb) return this.#skip(head === 0xca ? 4 : 8)
    if (head <= 0xcf) return this.#skip(1 << (head - 0xcc))
    if (head <= 0xd3) return this.#skip(1 << (head - 0xd0))
    if (head <= 0xd8) return this.#extension(1 << (head - 0xd4))
    if (head <= 0xdb) return this.#skip(this.#number(1 << (head - 0xd9)))
    const length = this.#number(head & 1 ? 4 : 2)
    this.#enter(head <= 0xdd ? length : 2 * length)
  }

  #extension(length: number): void {
    const type = this.#number(1)
    if (!EXTENSIONS.has(type)) throw malformed(`extension ${show(type)} is none of those that are read`)
    this.#skip(length)
    if (!TAGS.has(type)) return
    if (length !== 1) throw malformed(`extension ${show(type)} has ${length} bytes of its own`)
    this.#enter(1)
  }

  #enter(count: number): void {
    if (count > this.#bytes.length - this.at) throw malformed('a length is beyond its end')
    if (this.open.push(count) > 2 * DEPTH + 8) throw malformed('it is nested too deep')
  }

  #skip(length: number): void {
    if (length > this.#bytes.length - this.at) throw malformed('a length is beyond its end')
    this.at += length
  }

  #number(width: number): number {
    const { at } = this
    this.#skip(width)
    if (width === 1) return this.#view.getUint8(at)
    return width === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at)
  }
}
