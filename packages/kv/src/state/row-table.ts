// Driver: one key space of a row store with its overlay: what was applied and is not yet written, and what is being written.
//
//   read   active layer -> layer in flight -> rows of the store, recent or looked up ahead -> row store, the first that knows
//   write  active layer only; `seal` hands it to the batch that is written next, `settle` forgets it once that is synced
//
// Laws: a read sees every write before it, also of the same entry (A12); only net effects reach the store: what came and went
// between two batches is not written at all; a row of the store is believed only with its seal (D18).
//
// A large range that is cleared is a grave in its layer, and not a removed row a key: what the layer has is above the grave, what
// is below it is gone.

import { assert, binary } from '@latchkey/base'
import { keyOfBinary } from '../keyspaces.js'
import type { RowChange, RowStore } from '../storage/row-store.js'
import { damagedRow, isSealed, sealOf } from '../storage/row-checksum.js'
import type { RowKeys } from '../storage/row-keys.js'
import { SortedKeys } from '../storage/sorted-keys.js'
import { RowCache } from './row-cache.js'
import { PrefetchedRows } from './prefetched-rows.js'
import type { Sum } from './set-hash.js'

/** What a map entry costs besides its bytes, roughly. */
const ENTRY_BYTES = 100

interface Layer {
  readonly rows: Map<string, LayerRow>
  readonly keys: SortedKeys
  readonly graves: Grave[]
}
const newLayer = (): Layer => ({ rows: new Map(), keys: new SortedKeys(), graves: [] })

interface LayerRow {
  /** null: removed. */
  row: Uint8Array | null
  /** There is nothing below this layer: when it is removed, nothing is left to write. */
  readonly fresh: boolean
}

interface Grave {
  readonly start: string
  readonly end: string
  /** What has to go from the store: all that was live. */
  readonly keys: RowKeys
}

/** What is live in a range. */
export interface RangeRows {
  readonly keys: RowKeys
  /** Of their rows. */
  readonly sum: Sum
}
/** So few are removed one by one. */
const GRAVE_KEYS = 500

/** What a layer says of a key; null: it is gone; undefined: nothing. */
function rowIn({ rows, graves }: Layer, key: string): Uint8Array | null | undefined {
  const known = rows.get(key)
  if (known !== undefined || graves.length === 0) return known?.row
  return graves.some(({ start, end }) => key >= start && key < end) ? null : undefined
}

/** A range of an overlay as it was at a moment, whatever becomes of its layers. */
export interface Overlay {
  /** That it knows of, live or removed, sorted. */
  readonly keys: readonly string[]
  /** It says nothing of any key. */
  readonly isEmpty: boolean
  row(key: string): Uint8Array | null | undefined
}

/** Of a range: it is told of each key in it that changes, before it does. */
export interface RangeObserver {
  readonly start: string
  readonly end: string
  change(key: string, previous: Uint8Array | undefined): void
  /** Much of it changed. */
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

  /** Roughly the memory of the active layer. */
  get bytes(): number {
    return this.#bytes
  }

  /** The sealed value, not to be changed. `key` is the row's key behind its space, a character a byte. */
  get(key: string): Uint8Array | undefined {
    const known = this.#known(key)
    return (known === undefined ? this.#stored(key) : known) ?? undefined
  }

  /** undefined: only the store can tell. */
  #known(key: string): Uint8Array | null | undefined {
    const pending = rowIn(this.#active, key)
    if (pending !== undefined) return pending
    const flying = this.#inFlight === undefined ? undefined : rowIn(this.#inFlight, key)
    return flying === undefined ? (this.#recent.get(key) ?? this.#ahead.get(key)) : flying
  }

  /** Whether a look ahead would be worth it now. */
  get looksAhead(): boolean {
    return this.#ahead.worth
  }

  /** What is about to be asked for, where the store has to be asked. */
  lookAhead(keys: readonly Uint8Array[]): void {
    if (!this.#ahead.begin()) return
    for (const bytes of keys) {
      if (!this.#ahead.hasRoom) return
      const key = binary(bytes)
      if (this.#known(key) === undefined) this.#ahead.put(key, this.#stored(key))
    }
  }

  /** Of the row. Where the store has to be asked, the row is kept for whoever needs it next. */
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

  /** `previous` is what `get` answers now; null removes the row. */
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

  /** Removes all of [start, end), which has these rows. */
  clear(start: string, end: string, { keys, sum }: RangeRows): void {
    if (keys.size <= GRAVE_KEYS) return this.#removeEach(keys)
    this.#sum.subtract(sum)
    for (const observer of this.#observers) if (observer.start < end && observer.end > start) observer.lose()
    const { rows, graves, keys: known } = this.#active
    for (const key of known.range(start, end)) {
      const row = rows.get(key)?.row ?? null
      // A removed row stays removed.
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

  /** Keys in [start, end) that the overlay knows of, live or removed, sorted. `end` undefined: to the end of the space. */
  overlayKeys(start: string, end: string | undefined): string[] {
    const active = this.#active.keys.range(start, end)
    const flying = this.#inFlight?.keys.range(start, end) ?? []
    return flying.length === 0 ? active : [...new Set([...active, ...flying])].sort()
  }

  /** Appends the net effect to a batch; the active layer is now the one in flight. */
  seal(batch: RowChange[]): void {
    assert(this.#inFlight === undefined, 'two batches in flight')
    // First: what was put since stands behind its own removal.
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
