// Rule: the smallest state machine that can go wrong: a few registers, written, compared and swapped.
// Deterministic, with a hash of its whole state.

import type { Entry } from '@latchkey/raft/core'
import type { Request } from './port.js'

const SIZE = 24
const KEYS = 8

export interface Result {
  readonly request: number
  readonly seen: number
  readonly swapped: boolean
}

/** A batch of commands as bytes: encoded once, by whoever proposes. */
export function encodeCommands(requests: readonly Request[]): Uint8Array {
  const bytes = new Uint8Array(requests.length * SIZE)
  const view = new DataView(bytes.buffer)
  requests.forEach(({ id, kind, key, value, expected }, i) => {
    view.setFloat64(i * SIZE, id)
    view.setUint8(i * SIZE + 8, kind === 'swap' ? 1 : 0)
    view.setUint8(i * SIZE + 9, key)
    view.setUint32(i * SIZE + 12, value)
    view.setUint32(i * SIZE + 16, expected)
  })
  return bytes
}

export class Registers {
  #values = new Uint32Array(KEYS)
  #hash = 17

  get hash(): number {
    return this.#hash >>> 0
  }

  read(key: number): number {
    return this.#values[key] ?? 0
  }

  /** Applies one entry; results in the order of its commands. */
  apply(entry: Entry): readonly Result[] {
    this.#mix(entry.index)
    this.#mix(entry.time)
    if (entry.kind !== 'commands') return []
    const view = new DataView(entry.data.buffer, entry.data.byteOffset, entry.data.byteLength)
    const results: Result[] = []
    for (let at = 0; at + SIZE <= entry.data.length; at += SIZE) results.push(this.#command(view, at))
    return results
  }

  #command(view: DataView, at: number): Result {
    const key = view.getUint8(at + 9)
    const seen = this.#values[key] ?? 0
    const isSwap = view.getUint8(at + 8) === 1
    const swapped = !isSwap || view.getUint32(at + 16) === seen
    if (swapped) this.#values[key] = view.getUint32(at + 12)
    this.#mix(key)
    this.#mix(this.#values[key] ?? 0)
    return { request: view.getFloat64(at), seen, swapped }
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ (value | 0), 0x01000193)
    this.#hash ^= this.#hash >>> 13
  }

  /** Padded, so that a snapshot takes several chunks. */
  save(padding: number): Uint8Array {
    const bytes = new Uint8Array(4 + KEYS * 4 + padding)
    const view = new DataView(bytes.buffer)
    view.setInt32(0, this.#hash)
    this.#values.forEach((value, key) => view.setUint32(4 + key * 4, value))
    return bytes
  }

  load(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#hash = view.getInt32(0)
    for (let key = 0; key < KEYS; key++) this.#values[key] = view.getUint32(4 + key * 4)
  }
}
