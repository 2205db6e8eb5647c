// Driver: the iterators of a LatchkeyLevel. An iterator reads the store page by page. All pages come from one
// snapshot of the store, which is taken when the caller reads the first entry. A seek takes a new snapshot.

import type { As, KeyValue, KeyValueCalls } from '@latchkey/protocol'
import {
  AbstractIterator,
  AbstractKeyIterator,
  type AbstractLevel,
  AbstractValueIterator,
} from 'abstract-level'
import { type LevelRange, type Prefix, type StoreRange, isEmpty, seekIn } from './add-and-strip-key-prefix.js'

export interface IteratorOptions extends LevelRange {
  readonly reverse: boolean
  readonly limit: number
  readonly keys?: boolean
  readonly values?: boolean
  readonly signal?: AbortSignal
}

type Row = { key: Uint8Array; value: Uint8Array | undefined }

class Cursor {
  readonly #store: KeyValueCalls<As>
  readonly #prefix: Prefix
  readonly #whole: StoreRange
  readonly #reverse: boolean
  readonly #keysOnly: boolean
  readonly #limit: number
  #range: StoreRange
  #rows: AsyncIterator<KeyValue> | undefined

  constructor(store: KeyValueCalls<As>, prefix: Prefix, options: IteratorOptions, keysOnly: boolean) {
    this.#store = store
    this.#prefix = prefix
    this.#whole = prefix.range(options)
    this.#range = this.#whole
    this.#reverse = options.reverse
    this.#keysOnly = keysOnly
    this.#limit = options.limit
  }

  async next(): Promise<Row | undefined> {
    if (isEmpty(this.#range)) return undefined
    this.#rows ??= this.#open()
    const { done, value } = await this.#rows.next()
    return done ? undefined : { key: this.#prefix.strip(value.key), value: value.value }
  }

  async nextv<T>(size: number, convert: (row: Row) => T): Promise<T[]> {
    const found: T[] = []
    while (found.length < size) {
      const row = await this.next()
      if (!row) break
      found.push(convert(row))
    }
    return found
  }

  #open(): AsyncIterator<KeyValue> {
    const { start, end } = this.#range
    const limit = this.#limit >= 0 ? { limit: this.#limit } : {}
    const range = { gte: start, lt: end, reverse: this.#reverse, keysOnly: this.#keysOnly, ...limit }
    return this.#store.entries(range, { as: 'bytes' })[Symbol.asyncIterator]()
  }

  seek(target: Uint8Array): void {
    this.#range = seekIn(this.#whole, this.#prefix.key(target), this.#reverse)
    void this.close()
  }

  async close(): Promise<void> {
    const rows = this.#rows
    this.#rows = undefined
    await rows?.return?.()
  }
}

const toEntry = ({ key, value }: Row): [Uint8Array, Uint8Array | undefined] => [key, value]
const toKey = ({ key }: Row): Uint8Array => key
const toValue = ({ value }: Row): Uint8Array | undefined => value

type Level = AbstractLevel<Uint8Array, unknown, unknown>

export class EntryIterator extends AbstractIterator<Level, unknown, unknown> {
  readonly #cursor: Cursor

  constructor(db: Level, store: KeyValueCalls<As>, prefix: Prefix, options: IteratorOptions) {
    super(db, options)
    this.#cursor = new Cursor(store, prefix, options, options.values === false)
  }

  async _next(): Promise<unknown> {
    const row = await this.#cursor.next()
    return row && toEntry(row)
  }

  _nextv(size: number): Promise<unknown[]> {
    return this.#cursor.nextv(size, toEntry)
  }

  _seek(target: Uint8Array): void {
    this.#cursor.seek(target)
  }

  _close(): Promise<void> {
    return this.#cursor.close()
  }
}

export class KeyIterator extends AbstractKeyIterator<Level, unknown> {
  readonly #cursor: Cursor

  constructor(db: Level, store: KeyValueCalls<As>, prefix: Prefix, options: IteratorOptions) {
    super(db, options)
    this.#cursor = new Cursor(store, prefix, options, true)
  }

  async _next(): Promise<unknown> {
    const row = await this.#cursor.next()
    return row && toKey(row)
  }

  _nextv(size: number): Promise<unknown[]> {
    return this.#cursor.nextv(size, toKey)
  }

  _seek(target: Uint8Array): void {
    this.#cursor.seek(target)
  }

  _close(): Promise<void> {
    return this.#cursor.close()
  }
}

export class ValueIterator extends AbstractValueIterator<Level, unknown, unknown> {
  readonly #cursor: Cursor

  constructor(db: Level, store: KeyValueCalls<As>, prefix: Prefix, options: IteratorOptions) {
    super(db, options)
    this.#cursor = new Cursor(store, prefix, options, false)
  }

  async _next(): Promise<unknown> {
    const row = await this.#cursor.next()
    return row && toValue(row)
  }

  _nextv(size: number): Promise<unknown[]> {
    return this.#cursor.nextv(size, toValue)
  }

  _seek(target: Uint8Array): void {
    this.#cursor.seek(target)
  }

  _close(): Promise<void> {
    return this.#cursor.close()
  }
}
