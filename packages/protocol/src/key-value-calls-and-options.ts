// Types: the public calls for keys and values of a store, with their options and results.

import type { Duration } from './duration.js'
import type { As, Bytes, KeyAs, OnUndecodable, Parsed, ValueAs, ValueIn } from './key-and-value-encodings.js'
import type { AtRevision, InitialWatchEvent, RangeIterator } from './list-and-watch-result-types.js'

/**
 * A `linearizable` read sees every write that was acknowledged before the read began. For a `stale` read, the
 * connected member answers from its own state, which may lack the last writes.
 */
export type Consistency = 'linearizable' | 'stale'

/** The options of every call. A call takes the options as its last argument. */
export interface CallOptions {
  /**
   * An abort of this signal ends the call with ERR_ABORTED. If the client had already sent the write, the
   * error has `outcome: 'unknown'`, because the cluster may still apply the write.
   */
  signal?: AbortSignal | undefined
  /** The longest time for the whole call, including the time until a leader exists. Default: 5 s. */
  timeout?: Duration | undefined
}
/** The options of calls that read. `A` is the encoding of the returned values. */
export interface ReadOptions<A extends As = As> extends CallOptions, ValueOptions<A> {
  consistency?: Consistency | undefined
}
/** The encoding of the values of one call. Default: the encoding with which the store was opened. */
export interface ValueOptions<A extends As = As> {
  as?: A | undefined
  /**
   * What the call does with a stored value that `as` cannot decode. By default the call fails with
   * ERR_UNDECODABLE. With 'bytes' the call returns the value as `Uint8Array`, and your types must allow a
   * `Uint8Array`.
   */
  onUndecodable?: OnUndecodable | undefined
}
/** A hold of a lock. The key of the lock and the fencing token identify the hold. */
export interface Guard {
  key: Bytes
  token: number
  /**
   * True permits the token of a shared hold. By default a write with the token of a shared hold fails with
   * ERR_FENCED, because holders of a shared lock usually only read.
   */
  shared?: boolean | undefined
}
export interface WriteOptions extends CallOptions {
  /**
   * The cluster applies the write only while this lock is held with this token. Otherwise the write fails
   * with ERR_FENCED.
   */
  guard?: Guard | undefined
}
/**
 * How long a key exists. Without `ttl` and `ephemeral`, the key exists until a call deletes it. A call with
 * both options rejects with a TypeError. See docs/keys.md.
 */
interface KeyLife {
  /**
   * The cluster deletes the key after this much cluster time, and not earlier. The next put of the key sets
   * or removes the ttl.
   */
  ttl?: Duration | undefined
  /**
   * With true, the cluster deletes the key when the store that put the key closes, or when the session of
   * that store ends.
   */
  ephemeral?: boolean | undefined
}
/** The options of writes that take or return values. */
export interface ReadWriteOptions<A extends As = As> extends WriteOptions, ValueOptions<A> {}
interface PutOptions<A extends As = As> extends ReadWriteOptions<A>, KeyLife {}

/** A key and its value in the encoding of the call. With `keysOnly` the value is undefined. */
export interface KeyValue<A extends As = 'bytes', T = unknown> {
  key: KeyAs<A>
  value: ValueAs<A, T>
}
/** A value with its revisions. The store numbers its writes, and a revision is the number of a write. */
export interface EntryOfKey<A extends As = 'bytes', T = unknown> {
  value: ValueAs<A, T>
  /** The revisions of the write that created the key, and of the last write of the key. */
  createRevision: number
  modRevision: number
  /** The number of writes since the key was created: 1, 2, 3 ... */
  version: number
  /** In ms, the remaining time of the key's ttl. Undefined if the key has no ttl. */
  remainingMillis?: number | undefined
}
/** The result of `getEntry`. */
export interface EntryAtRevision<A extends As = 'bytes', T = unknown> extends EntryOfKey<A, T> {
  /**
   * The revision of the store at the read, which is at least modRevision. A `watch` from `revision + 1` on
   * misses no change.
   */
  revision: number
}
/** The result of a write. One write has one revision for all its keys. */
export interface Revised {
  revision: number
}

/**
 * A range of keys, in the order of their bytes. A range has at most one lower limit (`gte` or `gt`) and one
 * upper limit (`lte` or `lt`). With `prefix`, each key must also begin with the prefix.
 */
export interface Range {
  gte?: Bytes | undefined
  gt?: Bytes | undefined
  lte?: Bytes | undefined
  lt?: Bytes | undefined
  prefix?: Bytes | undefined
  /** The largest number of rows. 0 means no row. */
  limit?: number | undefined
  reverse?: boolean | undefined
  /** With true, the call reads no values, and the value of each row is undefined. */
  keysOnly?: boolean | undefined
}

export type WriteOp<A extends As = 'bytes'> =
  | ({ type: 'put'; key: Bytes; value: ValueIn<A> } & KeyLife)
  | { type: 'merge'; key: Bytes; value: Bytes }
  | { type: 'delete'; key: Bytes }
  | { type: 'deleteRange'; start: Bytes; end: Bytes }
  | { type: 'increment'; key: Bytes; by?: number | undefined }
export type TxnOp<A extends As = 'bytes'> = WriteOp<A> | { type: 'get'; key: Bytes }
/**
 * One condition of a txn: a comparison with a key, or the condition that a lock is now held with a given
 * token. The default of `field` is 'value', and the default of `is` is '='. `value: undefined` means that the
 * key is absent. The version and the revisions of an absent key are 0.
 *
 * The store compares encoded values, so under `json` the order of an object's properties counts. Under `json`
 * and `msgpack` a value can be compared only with '=' and '!='. Numbers with `as: 'number'` can be compared
 * in all four ways.
 */
export type Condition<A extends As = 'bytes'> =
  | {
      key: Bytes
      field?: 'value' | 'version' | 'createRevision' | 'modRevision' | undefined
      is?: '=' | '!=' | '<' | '>' | undefined
      value?: ValueIn<A> | number | undefined
      /**
       * Compares decimal text as a number: `{ key, is: '<', value: 10, as: 'number' }`. An absent key counts
       * as 0. If the value is not a number, the txn fails with ERR_NOT_A_NUMBER.
       */
      as?: 'number' | undefined
    }
  | { lock: Bytes; token: number }
/**
 * If all conditions in `when` are true, the cluster applies the steps of `then`. Otherwise the cluster
 * applies the steps of `else`. The whole txn is atomic.
 */
export interface Txn<A extends As = 'bytes'> {
  when?: readonly Condition<A>[] | undefined
  then?: readonly TxnOp<A>[] | undefined
  else?: readonly TxnOp<A>[] | undefined
}

/** What a watch observes: exactly one of `key`, `prefix` and `range`. */
export interface WatchTarget {
  key?: Bytes | undefined
  prefix?: Bytes | undefined
  range?: Pick<Range, 'gte' | 'gt' | 'lte' | 'lt'> | undefined
  /**
   * The first revision to report. By default the watch begins after the revision that the store has at the
   * call.
   */
  from?: number | undefined
}
/**
 * A change of a key. The watch reports the events of one revision together, in the order of their operations.
 * `value` is undefined for a delete, and `previous` is undefined for a new key.
 */
export interface WatchEvent<A extends As = 'bytes', T = unknown> {
  revision: number
  type: 'put' | 'delete'
  /** Why the cluster deleted the key: its ttl or its session ended. Undefined if a call changed the key. */
  reason?: 'expired' | 'session' | undefined
  key: KeyAs<A>
  value: ValueAs<A, T> | undefined
  previous: ValueAs<A, T> | undefined
}

/** The options of a watch that reports only changes. */
interface WatchOptions<A extends As = As> extends ReadOptions<A> {
  initial?: false | undefined
  resync?: false | undefined
}
export interface InitialWatchOptions<A extends As = As> extends ReadOptions<A> {
  /**
   * The watch first reports all present keys, then `{ type: 'synced', revision }`, then each change after
   * that revision.
   */
  initial: true
  /**
   * If the members no longer keep the revision that the watch needs next, the watch reports
   * `{ type: 'reset' }` and all present keys again. Without this option the watch fails with ERR_COMPACTED.
   */
  resync?: boolean | undefined
}

/**
 * The calls for keys and values. `S` is the encoding of the store, `'bytes'` by default. The `as` of a call
 * overrides `S`. `T` is the type of the decoded values under `json` and `msgpack`. The caller chooses `T`,
 * and the store does not check the type.
 */
export interface KeyValueCalls<S extends As = 'bytes'> {
  /** The encoding of calls without `as`. */
  readonly as: S
  /**
   * Resolves to the value, or to undefined for an absent key.
   * ```ts
   * const bytes = await store.get('user/1') // Uint8Array | undefined
   * const text = await store.get('user/1', { as: 'string' })
   * const user = await store.get<{ name: string }>('user/1', { as: 'json' })
   * ```
   */
  get<T = unknown, A extends As = S>(key: Bytes, options?: ReadOptions<A>): Promise<ValueAs<A, T> | undefined>
  get<T>(key: Bytes, options: ReadOptions<Parsed>): Promise<T | undefined>
  /**
   * Resolves to the values in the order of the keys. The call reads all values at one moment. An absent key
   * has the value undefined. A call with more than 4,096 keys, or with more than 15.75 MiB of values, fails
   * with ERR_TOO_LARGE.
   */
  multiGet<T = unknown, A extends As = S>(
    keys: readonly Bytes[],
    options?: ReadOptions<A>,
  ): Promise<(ValueAs<A, T> | undefined)[]>
  multiGet<T>(keys: readonly Bytes[], options: ReadOptions<Parsed>): Promise<(T | undefined)[]>
  containsKey(key: Bytes, options?: ReadOptions): Promise<boolean>
  /**
   * Resolves to the value with its revisions and the revision of the read, or to undefined if the key is
   * absent. For the revision of the read of an absent key, use `scan({ gte: key, lte: key })`, which returns
   * an empty array with a `revision`.
   */
  getEntry<T = unknown, A extends As = S>(
    key: Bytes,
    options?: ReadOptions<A>,
  ): Promise<EntryAtRevision<A, T> | undefined>
  getEntry<T>(key: Bytes, options: ReadOptions<Parsed>): Promise<EntryAtRevision<Parsed, T> | undefined>
  /**
   * ```ts
   * const { revision } = await store.put('user/1', { name: 'Ada' }, { as: 'json' })
   * await store.put('worker/7', 'here', { ttl: '30s' })
   * await store.put('state', 'done', { guard: { key: 'orders/42', token: hold.token } })
   * ```
   */
  put<A extends As = S>(key: Bytes, value: ValueIn<A>, options?: PutOptions<A>): Promise<Revised>
  /**
   * Replaces the ttl of the key. The new ttl begins now. The value and its revisions stay, and watches report
   * nothing. Resolves to false if the key is absent.
   */
  touch(key: Bytes, ttl: Duration, options?: WriteOptions): Promise<boolean>
  /**
   * Writes all entries in one atomic step. If a key is given twice, the last value counts. A call with more
   * than 20,000 rows fails with ERR_TOO_LARGE (see `batch`).
   */
  putAll<A extends As = S>(
    entries: Iterable<({ key: Bytes; value: ValueIn<A> } & KeyLife) | readonly [Bytes, ValueIn<A>]>,
    options?: PutOptions<A>,
  ): Promise<Revised>
  /**
   * If the key exists, the call writes nothing and resolves to the present value. Otherwise the call writes
   * the value and resolves to undefined.
   */
  putIfAbsent<T = unknown, A extends As = S>(
    key: Bytes,
    value: ValueIn<A>,
    options?: ReadWriteOptions<A>,
  ): Promise<ValueAs<A, T> | undefined>
  putIfAbsent<T>(
    key: Bytes,
    value: ValueIn<Parsed>,
    options: ReadWriteOptions<Parsed>,
  ): Promise<T | undefined>
  /** Resolves to the previous value, or to undefined if the key was absent. */
  getAndPut<T = unknown, A extends As = S>(
    key: Bytes,
    value: ValueIn<A>,
    options?: ReadWriteOptions<A>,
  ): Promise<ValueAs<A, T> | undefined>
  getAndPut<T>(key: Bytes, value: ValueIn<Parsed>, options: ReadWriteOptions<Parsed>): Promise<T | undefined>
  /**
   * Writes `update` and resolves to true if the present value is `expect`. Otherwise resolves to false.
   * `expect: undefined` means that the key is absent, and `update: undefined` deletes the key.
   */
  compareAndPut<A extends As = S>(
    key: Bytes,
    expect: ValueIn<A> | undefined,
    update: ValueIn<A> | undefined,
    options?: ReadWriteOptions<A>,
  ): Promise<boolean>
  /** Makes all comparisons and writes in one atomic step. If a comparison fails, the call writes nothing. */
  compareAndPutAll<A extends As = S>(
    list: readonly { key: Bytes; expect?: ValueIn<A> | undefined; update?: ValueIn<A> | undefined }[],
    options?: ReadWriteOptions<A>,
  ): Promise<boolean>
  /**
   * Appends a comma and the value to the stored value. An absent key gets the value alone. The call works
   * with text and bytes. In a store of `json` or `msgpack` pass `{ as: 'string' }`, otherwise the call fails
   * with a TypeError.
   */
  merge(key: Bytes, value: Bytes, options?: ReadWriteOptions<'bytes' | 'string'>): Promise<Revised>
  /**
   * Adds `by`, by default 1, to a whole number that is stored as decimal text. An absent key counts as 0.
   * ```ts
   * const { value } = await store.increment('visits')
   * ```
   * Fails with ERR_NOT_A_NUMBER if the value is not a whole number, and with ERR_TOO_LARGE if the sum is not
   * a safe integer. A failed call changes nothing. The key keeps its ttl or its session.
   */
  increment(key: Bytes, by?: number, options?: WriteOptions): Promise<{ value: number; revision: number }>
  /** Resolves to 1 if the key existed, otherwise to 0. */
  delete(key: Bytes, options?: WriteOptions): Promise<number>
  /** Deletes all keys in one atomic step. Resolves to the number of keys that existed. */
  deleteAll(keys: readonly Bytes[], options?: WriteOptions): Promise<number>
  /** Deletes all keys from `start` up to but not including `end`. Resolves to the number of deleted keys. */
  deleteRange(start: Bytes, end: Bytes, options?: WriteOptions): Promise<number>
  /**
   * Applies all steps in one atomic step. Resolves to the results in the order of the steps. A result is true
   * for put and merge, a count for delete and deleteRange, and the new value for increment.
   *
   * A batch and a txn have limits. Beyond a limit, the call fails with ERR_TOO_LARGE and changes nothing. The
   * limits are 20,000 rows, 128 deleteRange steps, 16 MiB of keys and values to read, and 16 MiB to write.
   * The rows are the steps, the conditions, and the rows that deleteRange steps delete. The written bytes
   * include previous values.
   */
  batch<A extends As = S>(
    ops: readonly WriteOp<A>[],
    options?: ReadWriteOptions<A>,
  ): Promise<{ revision: number; results: (true | number)[] }>
  /**
   * ```ts
   * await store.txn({
   *   when: [{ key: 'n', field: 'version', is: '=', value: 0 }],
   *   then: [{ type: 'put', key: 'n', value: '1' }],
   *   else: [{ type: 'get', key: 'n' }],
   * })
   * ```
   */
  txn<A extends As = S>(
    txn: Txn<A>,
    options?: ReadWriteOptions<A>,
  ): Promise<{ succeeded: boolean; results: (true | number | EntryOfKey<A> | undefined)[]; revision: number }>
  /**
   * Resolves to an array of all rows in key order. The array has the `revision` of the read. For more than a
   * few hundred rows use `entries`.
   */
  scan<T = unknown, A extends As = S>(
    range?: Range,
    options?: ReadOptions<A>,
  ): Promise<AtRevision<KeyValue<A, T>>>
  scan<T>(range: Range | undefined, options: ReadOptions<Parsed>): Promise<AtRevision<KeyValue<Parsed, T>>>
  /**
   * Iterates over the rows of one view, page by page. Writes during the loop do not change the view.
   * `revision` is a promise for the revision of the view.
   */
  entries<T = unknown, A extends As = S>(
    range?: Range,
    options?: ReadOptions<A>,
  ): RangeIterator<KeyValue<A, T>>
  entries<T>(range: Range | undefined, options: ReadOptions<Parsed>): RangeIterator<KeyValue<Parsed, T>>
  keys<A extends As = S>(range?: Range, options?: ReadOptions<A>): RangeIterator<KeyAs<A>>
  values<T = unknown, A extends As = S>(range?: Range, options?: ReadOptions<A>): RangeIterator<ValueAs<A, T>>
  values<T>(range: Range | undefined, options: ReadOptions<Parsed>): RangeIterator<T>
  /**
   * Resolves to a block of `step` numbers, from `start` up to but not including `end`. No other call gets a
   * number of this block. The first block begins at 0.
   */
  getSequence(key: Bytes, step: number, options?: WriteOptions): Promise<{ start: number; end: number }>
  /** Resolves to the start of the next block, or to 0 if no call has taken a block yet. */
  getLatestSequence(key: Bytes, options?: ReadOptions): Promise<number>
  resetSequence(key: Bytes, options?: WriteOptions): Promise<undefined>
  /**
   * Reports every change in order, without a gap or a repetition, also when the client reconnects or the
   * leader changes.
   * ```ts
   * const events = store.watch({ prefix: 'user/' }, { as: 'string' })
   * for await (const event of events) console.log(event.type, event.key)
   * ```
   * Throws ERR_COMPACTED if `from` is older than the history that the members keep. docs/guarantees.md,
   * "List, then watch", explains `initial: true`.
   */
  watch<T = unknown, A extends As = S>(
    target: WatchTarget,
    options: InitialWatchOptions<A>,
  ): AsyncIterableIterator<InitialWatchEvent<WatchEvent<A, T>>>
  watch<T>(
    target: WatchTarget,
    options: InitialWatchOptions<Parsed>,
  ): AsyncIterableIterator<InitialWatchEvent<WatchEvent<Parsed, T>>>
  watch<T = unknown, A extends As = S>(
    target: WatchTarget,
    options?: WatchOptions<A>,
  ): AsyncIterableIterator<WatchEvent<A, T>>
  watch<T>(target: WatchTarget, options: WatchOptions<Parsed>): AsyncIterableIterator<WatchEvent<Parsed, T>>
}
