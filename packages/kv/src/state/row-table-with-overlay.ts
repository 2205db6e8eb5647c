// Driver: the rows of one kind (one key space), with an overlay in memory. The overlay has the changes that
// are applied but not yet on the disk. Its active layer gets new changes. Its layer in flight has the changes
// of the batch that is being written.
//
//   read   active layer -> layer in flight -> cached or prefetched rows -> row store
//          (the first that knows the key answers)
//   write  active layer only; `collect` moves the layer into the next batch, `written` drops the layer after
//          the sync
//
// Laws: a read sees every earlier write, also of the same entry (A12). Only net effects reach the store: a
// row that was added and removed between two batches is not written. A read uses a row of the store only if
// its checksum is right (D18).
//
// To clear a large range, `clear` deletes the rows of the range from the active layer, and adds one range
// tombstone to this layer. The tombstone hides the rows of the range in the layer in flight and in the store.
// The next batch removes the hidden rows from the store. A row that is put after the clear is visible,
// because a look-up searches the rows of a layer before its tombstones.

import { assert, binary } from '@latchkey/base'
import { keyOfBinary } from '../keyspaces.js'
import type { RowChange, RowStore } from '../storage/row-store-interface.js'
import { damagedRow, isIntact, storedChecksum } from '../storage/stored-row-checksum.js'
import type { RowKeys } from '../storage/compact-list-of-keys.js'
import { SortedKeys } from '../storage/lazily-sorted-keys.js'
import { RowCache } from './row-cache.js'
import { PrefetchedRows } from './prefetched-rows.js'
import type { RowSetHash } from './row-set-hash.js'

/** In bytes, about how much memory an entry of the overlay takes besides its key and its value. */
const ENTRY_BYTES = 100

interface Layer {
  readonly rows: Map<string, LayerRow>
  readonly keys: SortedKeys
  readonly rangeTombstones: RangeTombstone[]
}
const newLayer = (): Layer => ({ rows: new Map(), keys: new SortedKeys(), rangeTombstones: [] })

interface LayerRow {
  /** The row with its checksum. null means that the row is removed. */
  row: Uint8Array | null
  /**
   * True if neither the store nor the batch that is being written has this row. Its removal then needs no
   * change in the next batch.
   */
  readonly fresh: boolean
}

/**
 * The changes of one command. `sum` is updated during the command, together with `rows`. So the commit reads
 * no checksums, and its turn of the event loop is short.
 */
export interface ChangedRows {
  readonly rows: ReadonlyMap<string, ChangedRow>
  /** The checksums of the new rows, minus the checksums of the rows that they replace. */
  readonly sum: RowSetHash
}

export interface ChangedRow extends LayerRow {
  before: Uint8Array | undefined
}

interface RangeTombstone {
  readonly start: string
  readonly end: string
  /**
   * The keys of all rows that the range had before the clear. The next batch removes these keys from the row
   * store.
   */
  readonly keys: RowKeys
}

export interface RangeRows {
  readonly keys: RowKeys
  /** The sum of the checksums of the rows. */
  readonly sum: RowSetHash
}
/** The most rows that `clear` removes one by one. For more rows, `clear` adds one range tombstone. */
const RANGE_TOMBSTONE_KEYS = 500

/** Returns the row, null if the row is removed, or undefined if the layer does not know the key. */
function rowIn({ rows, rangeTombstones }: Layer, key: string): Uint8Array | null | undefined {
  const known = rows.get(key)
  if (known !== undefined || rangeTombstones.length === 0) return known?.row
  return rangeTombstones.some(({ start, end }) => key >= start && key < end) ? null : undefined
}

/**
 * The keys of a range that the overlay knows at one moment. `row` reads the two layers of that moment. If the
 * active layer gets a newer row of a key, `row` returns the newer row.
 */
export interface Overlay {
  /** The sorted keys that the overlay knows, including removed keys. */
  readonly keys: readonly string[]
  /** True if the overlay knows no key of the range and has no range tombstone. */
  readonly isEmpty: boolean
  row(key: string): Uint8Array | null | undefined
}

/**
 * An object whose `change` is called before each change of a key in its range, for example a survey of a
 * deleteRange (delete-range-row-counts.ts).
 */
export interface RangeObserver {
  readonly start: string
  readonly end: string
  change(key: string, previous: Uint8Array | undefined): void
  /**
   * Called when `clear` has hidden many keys of the range by one range tombstone. The observer must then drop
   * what it has counted.
   */
  lose(): void
}

export class RowTable {
  readonly #space: number
  readonly #store: RowStore
  readonly #sum: RowSetHash
  readonly #recent = new RowCache()
  readonly #prefetched = new PrefetchedRows()
  #active = newLayer()
  #inFlight: Layer | undefined
  #bytes = 0
  readonly #observers: RangeObserver[] = []

  constructor(space: number, store: RowStore, sum: RowSetHash) {
    this.#space = space
    this.#store = store
    this.#sum = sum
  }

  /** The bytes of the changes in the active layer, without the changes that are being written. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Returns the row with its checksum, or undefined if the row does not exist. The caller must not change the
   * row. `key` is the key of the row without its first byte, with one character for each byte.
   */
  get(key: string): Uint8Array | undefined {
    const known = this.#known(key)
    return (known === undefined ? this.#stored(key) : known) ?? undefined
  }

  /**
   * Returns the row if it is in memory, null if the row does not exist, or undefined if only the store can
   * answer.
   */
  #known(key: string): Uint8Array | null | undefined {
    const pending = rowIn(this.#active, key)
    if (pending !== undefined) return pending
    const flying = this.#inFlight === undefined ? undefined : rowIn(this.#inFlight, key)
    return flying === undefined ? (this.#recent.get(key) ?? this.#prefetched.get(key)) : flying
  }

  /** True if a row had to be read from the store since the last prefetch. */
  get isPrefetchUseful(): boolean {
    return this.#prefetched.isUseful
  }

  /** Reads the rows of keys that will soon be needed, except the rows that are in memory already. */
  prefetch(keys: readonly Uint8Array[]): void {
    if (!this.#prefetched.begin()) return
    for (const bytes of keys) {
      if (!this.#prefetched.hasRoom) return
      const key = binary(bytes)
      if (this.#known(key) === undefined) this.#prefetched.put(key, this.#stored(key))
    }
  }

  /**
   * Returns the size of the row in bytes. A row that was read from the store stays in memory for its next
   * reader.
   */
  sizeOf(key: string): number {
    const known = this.#known(key)
    if (known !== undefined) return known?.length ?? 0
    const row = this.#stored(key)
    this.#prefetched.put(key, row)
    return row?.length ?? 0
  }

  #stored(key: string): Uint8Array | undefined {
    this.#prefetched.missed()
    const rowKey = keyOfBinary(this.#space, key)
    const value = this.#store.get(rowKey)
    if (value === undefined) return undefined
    if (!isIntact(rowKey, value)) throw damagedRow(rowKey)
    this.#recent.read(key, value)
    return value
  }

  /** Sets the row, or removes it if `value` is null. `previous` must be the present row. */
  set(key: string, value: Uint8Array | null, previous: Uint8Array | undefined): void {
    if (this.#observers.length > 0) this.#notify(key, previous)
    if (previous !== undefined) this.#sum.remove(storedChecksum(previous))
    if (value !== null) this.#sum.add(storedChecksum(value))
    const known = this.#active.rows.get(key)
    if (known !== undefined) this.#replace(key, known, value)
    else if (previous !== undefined || value !== null)
      this.#insert(key, { row: value, fresh: previous === undefined })
  }

  /**
   * Adds the changes of one command to the active layer. The present row of each key must be equal to its
   * `before`.
   */
  commit({ rows, sum }: ChangedRows): void {
    this.#sum.include(sum)
    for (const [key, changed] of rows) {
      const { before, row } = changed
      if (row === (before ?? null)) continue
      if (this.#observers.length > 0) this.#notify(key, before)
      const known = this.#active.rows.get(key)
      changed.before = undefined
      if (known === undefined) this.#insert(key, changed)
      else this.#replace(key, known, row)
    }
  }

  #insert(key: string, inserted: LayerRow): void {
    const { rows, keys } = this.#active
    rows.set(key, inserted)
    keys.add(key)
    this.#bytes += key.length + ENTRY_BYTES + (inserted.row?.length ?? 0)
  }

  #replace(key: string, known: LayerRow, value: Uint8Array | null): void {
    this.#bytes += (value?.length ?? 0) - (known.row?.length ?? 0)
    if (value === null && known.fresh) this.#active.rows.delete(key)
    else known.row = value
  }

  observe(observer: RangeObserver): void {
    this.#observers.push(observer)
  }

  forget(observer: RangeObserver): void {
    const at = this.#observers.indexOf(observer)
    if (at >= 0) this.#observers.splice(at, 1)
  }

  #notify(key: string, previous: Uint8Array | undefined): void {
    for (const observer of this.#observers)
      if (key >= observer.start && key < observer.end) observer.change(key, previous)
  }

  /**
   * Removes all rows of [start, end). `keys` must have the keys of exactly these rows, and `sum` the sum of
   * their checksums.
   */
  clear(start: string, end: string, { keys, sum }: RangeRows): void {
    if (keys.size <= RANGE_TOMBSTONE_KEYS) return this.#removeEach(keys)
    this.#sum.subtract(sum)
    for (const observer of this.#observers) if (observer.start < end && observer.end > start) observer.lose()
    const { rows, rangeTombstones, keys: known } = this.#active
    for (const key of known.range(start, end)) {
      const row = rows.get(key)?.row ?? null
      // If the row is already removed, its removal stays in the layer. `keys` does not have this row, and the
      // next batch must still remove the row from the store.
      if (row === null) continue
      rows.delete(key)
      this.#bytes -= row.length
    }
    rangeTombstones.push({ start, end, keys })
    this.#bytes += keys.bytes
  }

  #removeEach(rowKeys: RowKeys): void {
    for (const rowKey of rowKeys) {
      const key = binary(rowKey.subarray(1))
      this.set(key, null, this.get(key))
    }
  }

  overlay(start: string, end: string): Overlay {
    const [active, flying] = [this.#active, this.#inFlight]
    const row = (key: string) => {
      const pending = rowIn(active, key)
      return pending === undefined && flying !== undefined ? rowIn(flying, key) : pending
    }
    const keys = this.overlayKeys(start, end)
    const rangeTombstones = active.rangeTombstones.length + (flying?.rangeTombstones.length ?? 0)
    return { keys, isEmpty: keys.length + rangeTombstones === 0, row }
  }

  /**
   * Returns the sorted keys in [start, end) that the overlay knows, including removed keys. With `end`
   * undefined the range has no upper limit.
   */
  overlayKeys(start: string, end: string | undefined): string[] {
    const active = this.#active.keys.range(start, end)
    const flying = this.#inFlight?.keys.range(start, end) ?? []
    return flying.length === 0 ? active : [...new Set([...active, ...flying])].sort()
  }

  /**
   * Appends the changes of the active layer to a batch. The active layer becomes the layer that is being
   * written.
   */
  collect(batch: RowChange[]): void {
    assert(this.#inFlight === undefined, 'two batches in flight')
    // Range tombstones come first in the batch. A row of the layer is newer than the tombstones, and a later
    // tombstone would remove the row.
    for (const { start, keys } of this.#active.rangeTombstones)
      batch.push({ key: keyOfBinary(this.#space, start), value: undefined, others: keys })
    for (const [key, { row }] of this.#active.rows) {
      batch.push({ key: keyOfBinary(this.#space, key), value: row ?? undefined })
    }
    this.#inFlight = this.#active
    this.#active = newLayer()
    this.#bytes = 0
  }

  /** Drops the layer that was written. Called when its batch is on the disk. */
  written(): void {
    if (this.#inFlight === undefined) return
    const { rows, rangeTombstones } = this.#inFlight
    this.#inFlight = undefined
    this.#prefetched.clear()
    if (rangeTombstones.length > 0) this.#recent.clear()
    for (const [key, { row }] of rows) {
      if (row === null) this.#recent.forget(key)
      else this.#recent.keep(key, row)
    }
  }
}
