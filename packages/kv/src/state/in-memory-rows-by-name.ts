// Driver: keeps rows by their names, in memory and in the store. The rows have an order, and `put` can move a
// row to the end.

import { binary, copyBytes } from '@latchkey/base'
import { keyOfBinary } from '../keyspaces.js'
import { rowsOf } from '../storage/scan-rows.js'
import type { Row, RowChange, RowStore } from '../storage/row-store-interface.js'

interface Named {
  readonly name: Uint8Array
}

interface Slot<T> {
  row: T
  stored: boolean
}

interface NamedRowsOptions<T> {
  readonly space: number
  encode(row: T): Row
  decode(row: Row): T
}

export class NamedRows<T extends Named> {
  readonly #options: NamedRowsOptions<T>
  readonly #slots = new Map<string, Slot<T>>()
  readonly #dirty = new Set<string>()
  readonly #removed = new Set<string>()

  constructor(options: NamedRowsOptions<T>) {
    this.#options = options
  }

  get size(): number {
    return this.#slots.size
  }

  get(name: Uint8Array): T | undefined {
    return this.#slots.size === 0 ? undefined : this.#slots.get(binary(name))?.row
  }

  /** Adds or replaces the row. With `last`, the row moves to the end of the order. */
  put(row: T, last = false): void {
    const name = binary(row.name)
    const slot = this.#slots.get(name)
    // The name is copied, because the name in a command is a view of the bytes of the log entry.
    const kept = { ...row, name: slot?.row.name ?? copyBytes(row.name) }
    if (slot !== undefined && last) this.#slots.delete(name)
    this.#slots.set(name, { row: kept, stored: slot?.stored ?? this.#removed.has(name) })
    this.#removed.delete(name)
    this.#dirty.add(name)
  }

  delete(name: Uint8Array): void {
    const key = binary(name)
    const slot = this.#slots.get(key)
    if (slot === undefined) return
    this.#slots.delete(key)
    this.#dirty.delete(key)
    if (slot.stored) this.#removed.add(key)
  }

  /** Returns the name of each row as `binary` converts the name to text. */
  names(): Iterable<string> {
    return this.#slots.keys()
  }

  *inOrder(): Iterable<T> {
    for (const { row } of this.#slots.values()) yield row
  }

  collect(batch: RowChange[]): void {
    for (const name of this.#removed)
      batch.push({ key: keyOfBinary(this.#options.space, name), value: undefined })
    this.#removed.clear()
    for (const name of this.#dirty) {
      const slot = this.#slots.get(name) as Slot<T>
      slot.stored = true
      batch.push(this.#options.encode(slot.row))
    }
    this.#dirty.clear()
  }

  *rows(): Iterable<Row> {
    for (const row of this.inOrder()) yield this.#options.encode(row)
  }

  /** Sorts the rows with the comparison `by`. */
  async load(store: RowStore, by: (a: T, b: T) => number = () => 0): Promise<void> {
    const options = this.#options
    const rows: T[] = []
    for await (const row of rowsOf(store, options.space)) rows.push(options.decode(row))
    for (const row of rows.sort(by)) this.#slots.set(binary(row.name), { row, stored: true })
  }
}
