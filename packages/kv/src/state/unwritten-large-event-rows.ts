// Driver: keeps the rows of large events that are in no batch yet, or are in the batch that is being written.
// The row of a large event is a list of parts. The parts are views of the rows of the keys, so no large value
// is copied.
//
// Law: a row is added once, and is removed without being read. Without this law: for each put of 1 MiB, a
// member with a full history reads two old values of 1 MiB from its disk. All other calls wait for these
// reads.

import { binary, fromBinary } from '@latchkey/base'
import type { RowChange, RowStore } from '../storage/row-store-interface.js'
import { damagedRow, isIntact } from '../storage/stored-row-checksum.js'

/** In bytes, about how much memory a map entry takes besides its key and its value. */
const ENTRY_BYTES = 100

/**
 * The parts of the value of each row, by the key of the row as a `binary` text. One after another, the parts
 * are the whole value with its checksum. null means that the row is removed.
 */
type Layer = Map<string, readonly Uint8Array[] | null>

export class LargeEvents {
  readonly #store: RowStore
  #active: Layer = new Map()
  #inFlight: Layer = new Map()
  #bytes = 0

  constructor(store: RowStore) {
    this.#store = store
  }

  /** About how many bytes of rows wait for the next batch. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a row in parts, which include its checksum. No code may change the parts any more. */
  add(key: Uint8Array, parts: readonly Uint8Array[]): void {
    this.#active.set(binary(key), parts)
    this.#bytes += sizeOf(key, parts)
  }

  remove(key: Uint8Array): void {
    const name = binary(key)
    const added = this.#active.get(name)
    if (added === null) return
    if (added === undefined) this.#active.set(name, null)
    else this.#active.delete(name)
    this.#bytes += added === undefined ? sizeOf(key, []) : -sizeOf(key, added)
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const name = binary(key)
    const pending = this.#active.get(name)
    const parts = pending === undefined ? this.#inFlight.get(name) : pending
    if (parts === null) return undefined
    if (parts !== undefined) return Buffer.concat(parts)
    const row = this.#store.get(key)
    if (row !== undefined && !isIntact(key, row)) throw damagedRow(key)
    return row
  }

  collect(batch: RowChange[]): void {
    for (const [name, parts] of this.#active) {
      const [value, ...rest] = parts ?? []
      batch.push({ key: fromBinary(name), value, rest })
    }
    this.#inFlight = this.#active
    this.#active = new Map()
    this.#bytes = 0
  }

  /**
   * Drops the rows of the written batch. Called after the batch is on the disk, because readers then find the
   * rows in the store.
   */
  written(): void {
    this.#inFlight = new Map()
  }
}

const sizeOf = (key: Uint8Array, parts: readonly Uint8Array[]): number =>
  parts.reduce((sum, part) => sum + part.length, key.length + ENTRY_BYTES)
