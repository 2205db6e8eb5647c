// Rule: decodes MessagePack for people to read. Invalid bytes give undefined and never an error.

import { textOf } from './key-and-number-formatting.js'

/** A value with deeper nesting than MOST_DEPTH, or with more parts than MOST_PARTS, is shown in hex. */
const MOST_DEPTH = 64
const MOST_PARTS = 10_000

/** Undefined if the bytes are not MessagePack, or if other bytes follow the value. */
export function readMessagePack(bytes: Uint8Array): { value: unknown } | undefined {
  try {
    const reader = new Reader(bytes)
    const value = reader.next(0)
    return reader.isDone && bytes.length > 0 ? { value } : undefined
  } catch {
    return undefined
  }
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0
  #parts = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length
  }

  next(depth: number): unknown {
    this.#parts += 1
    if (depth > MOST_DEPTH || this.#parts > MOST_PARTS) throw new RangeError('too large to be shown')
    const first = this.#unsigned(1)
    if (first < 0x80) return first
    if (first < 0x90) return this.#map(first & 0x0f, depth)
    if (first < 0xa0) return this.#list(first & 0x0f, depth)
    if (first < 0xc0) return this.#text(first & 0x1f)
    if (first >= 0xe0) return first - 0x100
    return this.#long(first, depth)
  }

  #long(first: number, depth: number): unknown {
    if (first === 0xc0) return null
    if (first === 0xc2 || first === 0xc3) return first === 0xc3
    if (first >= 0xc4 && first <= 0xc6) return this.#take(this.#unsigned(1 << (first - 0xc4)))
    if (first === 0xca) return this.#view.getFloat32(this.#skip(4))
    if (first === 0xcb) return this.#view.getFloat64(this.#skip(8))
    if (first === 0xcf) return this.#view.getBigUint64(this.#skip(8))
    if (first >= 0xcc && first <= 0xce) return this.#unsigned(1 << (first - 0xcc))
    if (first === 0xd0) return this.#view.getInt8(this.#skip(1))
    if (first === 0xd1) return this.#view.getInt16(this.#skip(2))
    if (first === 0xd2) return this.#view.getInt32(this.#skip(4))
    if (first === 0xd3) return this.#view.getBigInt64(this.#skip(8))
    if (first >= 0xd9 && first <= 0xdb) return this.#text(this.#unsigned(1 << (first - 0xd9)))
    if (first === 0xdc || first === 0xdd) return this.#list(this.#unsigned(first === 0xdc ? 2 : 4), depth)
    if (first === 0xde || first === 0xdf) return this.#map(this.#unsigned(first === 0xde ? 2 : 4), depth)
    if (first >= 0xd4 && first <= 0xd8) return this.#extension(1 << (first - 0xd4))
    if (first >= 0xc7 && first <= 0xc9) return this.#extension(this.#unsigned(1 << (first - 0xc7)))
    throw new RangeError('no such type')
  }

  #extension(length: number): unknown {
    const type = this.#view.getInt8(this.#skip(1))
    return { extension: type, bytes: this.#take(length) }
  }

  #list(length: number, depth: number): unknown[] {
    const items: unknown[] = []
    for (let i = 0; i < length; i += 1) items.push(this.next(depth + 1))
    return items
  }

  #map(length: number, depth: number): Map<string, unknown> {
    const map = new Map<string, unknown>()
    for (let i = 0; i < length; i += 1) {
      const key = this.next(depth + 1)
      map.set(typeof key === 'string' ? key : JSON.stringify(key), this.next(depth + 1))
    }
    return map
  }

  #text(length: number): string {
    const text = textOf(this.#take(length))
    if (text === undefined) throw new RangeError('no UTF-8')
    return text
  }

  #take(length: number): Uint8Array {
    const at = this.#skip(length)
    return this.#bytes.subarray(at, at + length)
  }

  #unsigned(length: number): number {
    const at = this.#skip(length)
    if (length === 1) return this.#view.getUint8(at)
    return length === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at)
  }

  #skip(length: number): number {
    const at = this.#at
    if (at + length > this.#bytes.length) throw new RangeError('it ends too early')
    this.#at = at + length
    return at
  }
}
