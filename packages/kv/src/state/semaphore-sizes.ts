// Driver: keeps in memory how many permits each semaphore has. The rows in the store have the same contents.
// A semaphore that was not used for an hour is removed, and the next caller sets its number of permits again.

import { RecyclingMap } from '@latchkey/base'
import { SPACE, keyOfBinary } from '../keyspaces.js'
import { rowsOf } from '../storage/scan-rows.js'
import type { Row, RowChange, RowStore } from '../storage/row-store-interface.js'
import { type Due, DueHeap } from './deadline-heap.js'
import { keyText } from './lock-key-text.js'
import { decodeSize, encodeSize } from './lock-rows.js'

const FORGET_AFTER = 60 * 60 * 1000

class Size implements Due {
  readonly key: string
  of: number
  /** The cluster time after which an unused semaphore is removed. */
  due: number
  heapIndex = -1
  sortedBy = 0
  stored = false

  constructor(key: string, of: number, due: number) {
    this.key = key
    this.of = of
    this.due = due
  }
}

export class SemaphoreSizes {
  readonly #sizes = new RecyclingMap<string, Size>()
  readonly #heap = new DueHeap<Size>()
  readonly #dirty = new Set<Size>()
  #removed: string[] = []

  get size(): number {
    return this.#sizes.size
  }

  get(key: Uint8Array): number | undefined {
    return this.#sizes.size === 0 ? undefined : this.#sizes.get(keyText(key))?.of
  }

  /** Sets the number of permits to `of`. The semaphore counts as used at the cluster time `now`. */
  set(key: Uint8Array, of: number, now: number): void {
    const name = keyText(key)
    const size = this.#sizes.get(name) ?? new Size(name, of, 0)
    this.#sizes.set(name, size)
    size.of = of
    size.due = now + FORGET_AFTER
    this.#heap.update(size)
    this.#dirty.add(size)
  }

  /**
   * Removes the semaphores that were not used for an hour. A semaphore that has holders or waiters according
   * to `isUsed` stays for another hour.
   */
  forget(now: number, isUsed: (key: Uint8Array) => boolean): void {
    for (const size of this.#heap.takeDue(now)) {
      const key = Buffer.from(size.key, 'latin1')
      if (isUsed(key)) this.set(key, size.of, now)
      else this.#delete(size)
    }
  }

  #delete(size: Size): void {
    this.#sizes.delete(size.key)
    this.#dirty.delete(size)
    if (size.stored) this.#removed.push(size.key)
  }

  collect(batch: RowChange[]): void {
    for (const key of this.#removed) batch.push({ key: keyOfBinary(SPACE.semaphores, key), value: undefined })
    this.#removed = []
    for (const size of this.#dirty) {
      size.stored = true
      batch.push(encodeSize(size.key, size.of, size.due))
    }
    this.#dirty.clear()
  }

  *rows(): Iterable<Row> {
    for (const { key, of, due } of this.#sizes.values()) yield encodeSize(key, of, due)
  }

  async load(store: RowStore): Promise<void> {
    for await (const row of rowsOf(store, SPACE.semaphores)) {
      const { key, of, due } = decodeSize(row)
      const size = new Size(key, of, due)
      size.stored = true
      this.#sizes.set(key, size)
      this.#heap.update(size)
    }
  }
}
