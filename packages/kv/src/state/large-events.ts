// Driver: keeps the rows of large events that are in no batch yet, or are in the batch that is being written.
// The event of a value of 1 MiB that replaces another one has 2 MiB. So such a row is a list of parts, and
// its large values are not copied: the parts are views of the rows of the keys.
//
// Law: a row is added once, and is removed without being read. Without this law: a member whose history is
// full reads two old values of 1 MiB from its disk for each put of such a value, while all other calls wait.

import { binary, fromBinary } from '@latchkey/base'
import type { RowChange, RowStore } from '../storage/row-store.js'
import { damagedRow, isSealed } from '../storage/stored-row-checksum.js'

/** In bytes, about how much a map entry takes besides its key and its value. */
const ENTRY_BYTES = 100

/** The parts of each row. null means that the row is removed. */
type Layer = Map<string, readonly Uint8Array[] | null>

export class LargeEvents {
  readonly #store: RowStore
  #active: Layer = new Map()
  #inFlight: Layer = new Map()
  #bytes = 0

  constructor(store: RowStore) {
    this.#store = store
  }

  /** About how many bytes the rows have that are in no batch yet. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a row in parts. The parts have their checksum, and no code changes them any more. */
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

  /** Returns the row in one piece, or undefined if there is no such row. */
  get(key: Uint8Array): Uint8Array | undefined {
    const name = binary(key)
    const pending = this.#active.get(name)
    const parts = pending === undefined ? this.#inFlight.get(name) : pending
    if (parts === null) return undefined
    if (parts !== undefined) return Buffer.concat(parts)
    const row = this.#store.get(key)
    if (row !== undefined && !isSealed(key, row)) throw damagedRow(key)
    return row
  }

  /** Adds all changes to a batch, which `settle` ends. */
  collect(batch: RowChange[]): void {
    for (const [name, parts] of this.#active) {
      const [value, ...rest] = parts ?? []
      batch.push({ key: fromBinary(name), value, rest })
    }
    this.#inFlight = this.#active
    this.#active = new Map()
    this.#bytes = 0
  }

  /** The batch is in the store. */
  settle(): void {
    this.#inFlight = new Map()
  }
}

const sizeOf = (key: Uint8Array, parts: readonly Uint8Array[]): number =>
  parts.reduce((sum, part) => sum + part.length, key.length + ENTRY_BYTES)
