// Driver: one key space of a row store, with an overlay. The overlay has the changes that are applied but not
// written yet, or that are being written.
//
//   read   active layer -> layer in flight -> cached or prefetched rows -> row store
//          (the first that knows the key answers)
//   write  active layer only; `seal` moves the layer into the next batch, `settle` drops it after the sync
//
// Laws: a read sees every write before it, also those of the same entry (A12). Only net effects reach the
// store: a row that was added and removed between two batches is not written at all. A row of the store is
// used only if its checksum is right (D18).
//
// When a large range is cleared, the layer gets one range tombstone instead of one removed row for each key.
// The rows of the layer are newer than its range tombstones. Rows below the layer in that range are removed.

import { assert, binary } from '@latchkey/base'
import { keyOfBinary } from '../keyspaces.js'
import type { RowChange, RowStore } from '../storage/row-store.js'
import { damagedRow, isSealed, sealOf } from '../storage/stored-row-checksum.js'
import type { RowKeys } from '../storage/compact-list-of-keys.js'
import { SortedKeys } from '../storage/sorted-keys.js'
import { RowCache } from './row-cache.js'
import { PrefetchedRows } from './prefetched-rows.js'
import type { Sum } from './set-hash.js'

/** In bytes, about how much a map entry takes besides its key and its value. */
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
   * True if neither the store nor a layer below has this row. If such a row is removed, nothing has to be
   * written.
   */
  readonly fresh: boolean
}

interface RangeTombstone {
  readonly start: string
  readonly end: string
  /** The keys of all rows of the range that must be removed from the store. */
  readonly keys: RowKeys
}

/** The live rows of a range. */
export interface RangeRows {
  readonly keys: RowKeys
  /** The sum of the checksums of the rows. */
  readonly sum: Sum
}
/** In rows. Up to this number, rows are removed one by one, without a range tombstone. */
const RANGE_TOMBSTONE_KEYS = 500

/**
 * Returns the entry of the layer for a key: the row, null if the row is removed, or undefined if the layer
 * does not know the key.
 */
function rowIn({ rows, rangeTombstones }: Layer, key: string): Uint8Array | null | undefined {
  const known = rows.get(key)
  if (known !== undefined || rangeTombstones.length === 0) return known?.row
  return rangeTombstones.some(({ start, end }) => key >= start && key < end) ? null : undefined
}

/** A range of the overlay at one moment. This object does not change when the layers change. */
export interface Overlay {
  /** The sorted keys that the overlay knows, including removed keys. */
  readonly keys: readonly string[]
  /** True if the overlay knows no key of the range. */
  readonly isEmpty: boolean
  row(key: string): Uint8Array | null | undefined
}

/** Gets a call before each change of a key in its range. */
export interface RangeObserver {
  readonly start: string
  readonly end: string
  change(key: string, previous: Uint8Array | undefined): void
  /** Called when many keys of the range change at once. */
  lose(): void
}

export class RowTable {
  readonly #space: number
  readonly #store: RowStore
  readonly #sum: Sum
  readonly #recent = new RowCache()
  readonly #ahead = new PrefetchedRows()
  #active = newLayer()
  #inFlight: Layer | undefined
  #bytes = 0
  readonly #observers: RangeObserver[] = []

  constructor(space: number, store: RowStore, sum: Sum) {
    this.#space = space
    this.#store = store
    this.#sum = sum
  }

  /** About how many bytes the active layer has. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Returns the row with its checksum. The caller must not change the row. `key` is the key of the row
   * without the byte of its space, with one character for each byte.
   */
  get(key: string): Uint8Array | undefined {
    const known = this.#known(key)
    return (known === undefined ? this.#stored(key) : known) ?? undefined
  }

  /**
   * Returns the row if it is known without the store. Returns null if there is no such row, or undefined if
   * the store must be searched.
   */
  #known(key: string): Uint8Array | null | undefined {
    const pending = rowIn(this.#active, key)
    if (pending !== undefined) return pending
    const flying = this.#inFlight === undefined ? undefined : rowIn(this.#inFlight, key)
    return flying === undefined ? (this.#recent.get(key) ?? this.#ahead.get(key)) : flying
  }

  /** Whether reading rows ahead would save time now. */
  get looksAhead(): boolean {
    return this.#ahead.worth
  }

  /** For keys that will soon be needed: reads the rows that are not in memory yet. */
  lookAhead(keys: readonly Uint8Array[]): void {
    if (!this.#ahead.begin()) return
    for (const bytes of keys) {
      if (!this.#ahead.hasRoom) return
      const key = binary(bytes)
      if (this.#known(key) === undefined) this.#ahead.put(key, this.#stored(key))
    }
  }

  /**
   * Returns the size of the row in bytes. If the row must be read from the store, it is kept for its next
   * reader.
   */
  sizeOf(key: string): number {
    const known = this.#known(key)
    if (known !== undefined) return known?.length ?? 0
    const row = this.#stored(key)
    this.#ahead.put(key, row)
    return row?.length ?? 0
  }

  #stored(key: string): Uint8Array | undefined {
    this.#ahead.missed()
    const rowKey = keyOfBinary(this.#space, key)
    const value = this.#store.get(rowKey)
    if (value === undefined) return undefined
    if (!isSealed(rowKey, value)) throw damagedRow(rowKey)
    this.#recent.read(key, value)
    return value
  }

  /** Sets the row. null removes it. `previous` must be what `get` returns now. */
  set(key: string, value: Uint8Array | null, previous: Uint8Array | undefined): void {
    if (this.#observers.length > 0) this.#tell(key, previous)
    if (previous !== undefined) this.#sum.remove(sealOf(previous))
    if (value !== null) this.#sum.add(sealOf(value))
    const { rows, keys } = this.#active
    const known = rows.get(key)
    if (known === undefined) {
      if (previous === undefined && value === null) return
      rows.set(key, { row: value, fresh: previous === undefined })
      keys.add(key)
      this.#bytes += key.length + ENTRY_BYTES + (value?.length ?? 0)
      return
    }
    this.#bytes += (value?.length ?? 0) - (known.row?.length ?? 0)
    if (value === null && known.fresh) rows.delete(key)
    else known.row = value
  }

  observe(observer: RangeObserver): void {
    this.#observers.push(observer)
  }

  forget(observer: RangeObserver): void {
    const at = this.#observers.indexOf(observer)
    if (at >= 0) this.#observers.splice(at, 1)
  }

  #tell(key: string, previous: Uint8Array | undefined): void {
    for (const observer of this.#observers)
      if (key >= observer.start && key < observer.end) observer.change(key, previous)
  }

  /** Removes all rows of [start, end). The caller passes the keys of these rows. */
  clear(start: string, end: string, { keys, sum }: RangeRows): void {
    if (keys.size <= RANGE_TOMBSTONE_KEYS) return this.#removeEach(keys)
    this.#sum.subtract(sum)
    for (const observer of this.#observers) if (observer.start < end && observer.end > start) observer.lose()
    const { rows, rangeTombstones, keys: known } = this.#active
    for (const key of known.range(start, end)) {
      const row = rows.get(key)?.row ?? null
      // The row is removed already, and its removal must stay in the layer.
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
   * Returns the sorted keys in [start, end) that the overlay knows, including removed keys. If `end` is
   * undefined, the range goes to the end of the space.
   */
  overlayKeys(start: string, end: string | undefined): string[] {
    const active = this.#active.keys.range(start, end)
    const flying = this.#inFlight?.keys.range(start, end) ?? []
    return flying.length === 0 ? active : [...new Set([...active, ...flying])].sort()
  }

  /** Appends the net effect of the active layer to a batch. The active layer becomes the layer in flight. */
  seal(batch: RowChange[]): void {
    assert(this.#inFlight === undefined, 'two batches in flight')
    // Range tombstones come first, so that a row that was put later comes in the batch after its removal.
    for (const { start, keys } of this.#active.rangeTombstones)
      batch.push({ key: keyOfBinary(this.#space, start), value: undefined, others: keys })
    for (const [key, { row }] of this.#active.rows) {
      batch.push({ key: keyOfBinary(this.#space, key), value: row ?? undefined })
    }
    this.#inFlight = this.#active
    this.#active = newLayer()
    this.#bytes = 0
  }

  /** Called when the batch with the layer in flight is in the store. */
  settle(): void {
    if (this.#inFlight === undefined) return
    const { rows, rangeTombstones } = this.#inFlight
    this.#inFlight = undefined
    this.#ahead.clear()
    if (rangeTombstones.length > 0) this.#recent.clear()
    for (const [key, { row }] of rows) {
      if (row === null) this.#recent.forget(key)
      else this.#recent.keep(key, row)
    }
  }
}
