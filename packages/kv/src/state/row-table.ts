// Driver: one key space of a row store, with an overlay of changes that are applied but not written yet, or
// are being written.
//
//   read   active layer -> layer in flight -> cached or prefetched rows -> row store
//          (the first that knows the key answers)
//   write  active layer only; `seal` moves it into the next batch, `settle` drops it once that is synced
//
// Laws: a read sees every write before it, also of the same entry (A12). Only net effects reach the store: a
// row that was added and removed between two batches is not written at all. A row of the store is used only
// if its seal is right (D18).
//
// When a large range is cleared, the layer gets a range tombstone, here called a grave, instead of one
// removed row for each key. Rows of the layer are newer than its graves; rows below the layer in that range
// are removed.

import { assert, binary } from '@latchkey/base'
import { keyOfBinary } from '../keyspaces.js'
import type { RowChange, RowStore } from '../storage/row-store.js'
import { damagedRow, isSealed, sealOf } from '../storage/row-checksum.js'
import type { RowKeys } from '../storage/row-keys.js'
import { SortedKeys } from '../storage/sorted-keys.js'
import { RowCache } from './row-cache.js'
import { PrefetchedRows } from './prefetched-rows.js'
import type { Sum } from './set-hash.js'

/** About how many bytes a map entry takes besides its key and value. */
const ENTRY_BYTES = 100

interface Layer {
  readonly rows: Map<string, LayerRow>
  readonly keys: SortedKeys
  readonly graves: Grave[]
}
const newLayer = (): Layer => ({ rows: new Map(), keys: new SortedKeys(), graves: [] })

interface LayerRow {
  /** The sealed row; null: it is removed. */
  row: Uint8Array | null
  /** No layer or store below has this row, so if it is removed nothing has to be written. */
  readonly fresh: boolean
}

interface Grave {
  readonly start: string
  readonly end: string
  /** The keys of all rows of the range that must be removed from the store. */
  readonly keys: RowKeys
}

/** The live rows of a range. */
export interface RangeRows {
  readonly keys: RowKeys
  /** The sum of their seals. */
  readonly sum: Sum
}
/** Up to so many rows are removed one by one, without a grave. */
const GRAVE_KEYS = 500

/** What a layer says about a key; null: it is removed; undefined: the layer does not know the key. */
function rowIn({ rows, graves }: Layer, key: string): Uint8Array | null | undefined {
  const known = rows.get(key)
  if (known !== undefined || graves.length === 0) return known?.row
  return graves.some(({ start, end }) => key >= start && key < end) ? null : undefined
}

/** A range of an overlay at one moment; it stays the same when the layers change. */
export interface Overlay {
  /** The keys that the overlay knows, live or removed, sorted. */
  readonly keys: readonly string[]
  /** The overlay knows no key of the range. */
  readonly isEmpty: boolean
  row(key: string): Uint8Array | null | undefined
}

/** Notified before a key of its range changes. */
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

  /** About how many bytes the active layer takes. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * The sealed value, which the caller must not change. `key` is the row's key without its space, one byte
   * for each character.
   */
  get(key: string): Uint8Array | undefined {
    const known = this.#known(key)
    return (known === undefined ? this.#stored(key) : known) ?? undefined
  }

  /** What is known without the store; null: there is no such row; undefined: the store must be searched. */
  #known(key: string): Uint8Array | null | undefined {
    const pending = rowIn(this.#active, key)
    if (pending !== undefined) return pending
    const flying = this.#inFlight === undefined ? undefined : rowIn(this.#inFlight, key)
    return flying === undefined ? (this.#recent.get(key) ?? this.#ahead.get(key)) : flying
  }

  /** Whether reading ahead is worth it now. */
  get looksAhead(): boolean {
    return this.#ahead.worth
  }

  /** Reads the rows of keys that are about to be needed, if they are not in memory. */
  lookAhead(keys: readonly Uint8Array[]): void {
    if (!this.#ahead.begin()) return
    for (const bytes of keys) {
      if (!this.#ahead.hasRoom) return
      const key = binary(bytes)
      if (this.#known(key) === undefined) this.#ahead.put(key, this.#stored(key))
    }
  }

  /** The size of the row. If it must be read from the store, it is kept for the caller that needs it next. */
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

  /** `previous` is what `get` returns now; null removes the row. */
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

  /** Removes all rows of [start, end); the caller passes what they are. */
  clear(start: string, end: string, { keys, sum }: RangeRows): void {
    if (keys.size <= GRAVE_KEYS) return this.#removeEach(keys)
    this.#sum.subtract(sum)
    for (const observer of this.#observers) if (observer.start < end && observer.end > start) observer.lose()
    const { rows, graves, keys: known } = this.#active
    for (const key of known.range(start, end)) {
      const row = rows.get(key)?.row ?? null
      // A row that is removed already stays removed.
      if (row === null) continue
      rows.delete(key)
      this.#bytes -= row.length
    }
    graves.push({ start, end, keys })
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
    const graves = active.graves.length + (flying?.graves.length ?? 0)
    return { keys, isEmpty: keys.length + graves === 0, row }
  }

  /**
   * The keys in [start, end) that the overlay knows, live or removed, sorted. `end` undefined: to the end of
   * the space.
   */
  overlayKeys(start: string, end: string | undefined): string[] {
    const active = this.#active.keys.range(start, end)
    const flying = this.#inFlight?.keys.range(start, end) ?? []
    return flying.length === 0 ? active : [...new Set([...active, ...flying])].sort()
  }

  /** Appends the net effect to a batch; the active layer becomes the one in flight. */
  seal(batch: RowChange[]): void {
    assert(this.#inFlight === undefined, 'two batches in flight')
    // Graves come first, so that a row that was put later is in the batch after its removal.
    for (const { start, keys } of this.#active.graves)
      batch.push({ key: keyOfBinary(this.#space, start), value: undefined, others: keys })
    for (const [key, { row }] of this.#active.rows) {
      batch.push({ key: keyOfBinary(this.#space, key), value: row ?? undefined })
    }
    this.#inFlight = this.#active
    this.#active = newLayer()
    this.#bytes = 0
  }

  /** The batch in flight is in the store. */
  settle(): void {
    if (this.#inFlight === undefined) return
    const { rows, graves } = this.#inFlight
    this.#inFlight = undefined
    this.#ahead.clear()
    if (graves.length > 0) this.#recent.clear()
    for (const [key, { row }] of rows) {
      if (row === null) this.#recent.forget(key)
      else this.#recent.keep(key, row)
    }
  }
}
