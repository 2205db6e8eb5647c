// Rule: reads and writes little-endian numbers in a buffer. The functions that write do not check the
// buffer's length. The class Reader checks the length at each read.

import { asBuffer } from '@latchkey/base'

const WORD = 2 ** 32

export function putU64(buffer: Buffer, at: number, value: number): void {
  buffer.writeUInt32LE(value % WORD, at)
  buffer.writeUInt32LE(Math.floor(value / WORD), at + 4)
}

/**
 * Returns NaN if the number is above 2^53 - 1. Comparisons with NaN are false, so the caller's checks refuse
 * the value.
 */
export function getU64(buffer: Buffer, at: number): number {
  const value = buffer.readUInt32LE(at) + buffer.readUInt32LE(at + 4) * WORD
  return Number.isSafeInteger(value) ? value : Number.NaN
}

/**
 * Reads values one after another. If the bytes run out, `ok` becomes false, and all further values are 0 or
 * empty. So a caller checks `ok` once, after its last read.
 */
export class Reader {
  readonly #buffer: Buffer
  readonly #end: number
  #at: number
  ok = true

  constructor(buffer: Buffer, at: number, end: number) {
    this.#buffer = buffer
    this.#at = at
    this.#end = end
  }

  get done(): boolean {
    return this.#at === this.#end
  }

  u32(): number {
    const at = this.#take(4)
    return this.ok ? this.#buffer.readUInt32LE(at) : 0
  }

  u64(): number {
    const at = this.#take(8)
    const value = this.ok ? getU64(this.#buffer, at) : 0
    if (Number.isNaN(value)) this.ok = false
    return value
  }

  f64(): number {
    const at = this.#take(8)
    return this.ok ? this.#buffer.readDoubleLE(at) : 0
  }

  /** Returns a view, which keeps the whole buffer in memory. */
  bytes(length: number): Uint8Array {
    const at = this.#take(length)
    return this.ok ? this.#buffer.subarray(at, at + length) : this.#buffer.subarray(0, 0)
  }

  text(length: number): string {
    const bytes = this.bytes(length)
    return asBuffer(bytes).toString('utf8')
  }

  #take(length: number): number {
    const at = this.#at
    if (length > this.#end - at) this.ok = false
    else this.#at += length
    return at
  }
}

const ZEROS = Buffer.alloc(64 * 1024)

export function allZeros(buffer: Buffer, from: number): boolean {
  for (let at = from; at < buffer.length; at += ZEROS.length) {
    const end = Math.min(buffer.length, at + ZEROS.length)
    if (buffer.compare(ZEROS, 0, end - at, at, end) !== 0) return false
  }
  return true
}
