// Driver: LatchkeyLevel, an AbstractLevel database in a Store, under a prefix of keys. The caller owns the
// store, so closing the database does not close the store.

import type { As, KeyValueCalls, WriteOp } from '@latchkey/protocol'
import { type AbstractDatabaseOptions, AbstractLevel } from 'abstract-level'
import { EntryIterator, type IteratorOptions, KeyIterator, ValueIterator } from './iterators.js'
import { type LevelRange, Prefix, isEmpty } from './add-and-strip-key-prefix.js'

export interface LatchkeyLevelOptions<KDefault, VDefault>
  extends AbstractDatabaseOptions<KDefault, VDefault> {
  /** All keys of the database begin with this prefix in the store. The prefix must not be empty. */
  prefix: string | Uint8Array
}

type Operation =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'del'; readonly key: Uint8Array }

/** How many keys one call deletes if `clear` cannot delete the whole range with one command. */
const PART = 1_000
/** In bytes. The store refuses a longer start or end of a range. */
const LONGEST_BOUND = 4_096

/**
 * A LevelDB-like database whose entries are keys of the store with a common prefix.
 * ```ts
 * const options = { prefix: 'users/', valueEncoding: 'json' }
 * const users = new LatchkeyLevel<string, { name: string }>(store, options)
 * await users.put('7', { name: 'Ada' })
 * ```
 */
export class LatchkeyLevel<KDefault = string, VDefault = string> extends AbstractLevel<
  Uint8Array,
  KDefault,
  VDefault
> {
  readonly #store: KeyValueCalls<As>
  readonly #prefix: Prefix

  constructor(store: KeyValueCalls<As>, options: LatchkeyLevelOptions<KDefault, VDefault>) {
    if (typeof store?.entries !== 'function') throw new TypeError('store must be a Store')
    if (typeof options !== 'object' || options === null)
      throw new TypeError("options must be an object with a prefix, such as { prefix: 'users/' }")
    const { prefix, ...forward } = options
    const under = new Prefix(prefix)
    super(
      {
        seek: true,
        // An iterator takes its snapshot when the caller reads the first entry, and not when the iterator is
        // created.
        implicitSnapshots: false,
        explicitSnapshots: false,
        permanence: true,
        createIfMissing: false,
        errorIfExists: false,
        has: true,
        getSync: false,
        encodings: { view: true },
        signals: { iterators: false },
      } as object,
      forward,
    )
    this.#store = store
    this.#prefix = under
  }

  // AbstractLevel calls the methods below, with encoded keys and values.

  _get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#store.get(this.#prefix.key(key), BYTES)
  }

  _getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return this.#store.multiGet(
      keys.map((key) => this.#prefix.key(key)),
      BYTES,
    )
  }

  _has(key: Uint8Array): Promise<boolean> {
    return this.#store.containsKey(this.#prefix.key(key))
  }

  _hasMany(keys: readonly Uint8Array[]): Promise<boolean[]> {
    return Promise.all(keys.map((key) => this._has(key)))
  }

  async _put(key: Uint8Array, value: Uint8Array): Promise<void> {
    await this.#store.put(this.#prefix.key(key), value, BYTES)
  }

  async _del(key: Uint8Array): Promise<void> {
    await this.#store.delete(this.#prefix.key(key))
  }

  async _batch(operations: readonly Operation[]): Promise<void> {
    await this.#store.batch(
      operations.map((operation) => this.#toOp(operation)),
      BYTES,
    )
  }

  #toOp(operation: Operation): WriteOp {
    const key = this.#prefix.key(operation.key)
    return operation.type === 'put' ? { type: 'put', key, value: operation.value } : { type: 'delete', key }
  }

  /**
   * Deletes a range. One atomic command deletes the range if there is no limit, and if the store accepts the
   * start and the end of the range. Otherwise several commands delete parts of the range.
   */
  async _clear(options: LevelRange & { readonly reverse: boolean; readonly limit: number }): Promise<void> {
    const { start, end } = this.#prefix.range(options)
    if (isEmpty({ start, end })) return
    const plain = options.limit < 0 && start.length <= LONGEST_BOUND && end.length <= LONGEST_BOUND
    if (plain) await this.#store.deleteRange(start, end)
    else await this.#clearInParts(start, end, options.reverse, options.limit)
  }

  async #clearInParts(start: Uint8Array, end: Uint8Array, reverse: boolean, limit: number): Promise<void> {
    const most = limit < 0 ? {} : { limit }
    const part: Uint8Array[] = []
    for await (const key of this.#store.keys({ gte: start, lt: end, reverse, ...most }, BYTES)) {
      part.push(key)
      if (part.length === PART) await this.#store.deleteAll(part.splice(0))
    }
    if (part.length > 0) await this.#store.deleteAll(part)
  }

  _iterator(options: IteratorOptions): EntryIterator {
    return new EntryIterator(this as unknown as Any, this.#store, this.#prefix, options)
  }

  _keys(options: IteratorOptions): KeyIterator {
    return new KeyIterator(this as unknown as Any, this.#store, this.#prefix, options)
  }

  _values(options: IteratorOptions): ValueIterator {
    return new ValueIterator(this as unknown as Any, this.#store, this.#prefix, options)
  }
}

type Any = LatchkeyLevel<unknown, unknown>
const BYTES = { as: 'bytes' } as const
