// Types: the public contract of keys and values, of an embedded store or a remote one, and the
// options of calls.

import type { Duration } from './duration.js'
import type { As, Bytes, KeyAs, OnUndecodable, Parsed, ValueAs, ValueIn } from './encodings.js'
import type { AtRevision, InitialWatchEvent, RangeIterator } from './list-and-watch-types.js'

/**
 * A `linearizable` read sees every write that was acknowledged before. For a `stale` read, the connected
 * member answers from its own state, which may lack the last writes.
 */
export type Consistency = 'linearizable' | 'stale'

/** The options of every call. The last argument of a call has these options. */
export interface CallOptions {
  /**
   * An abort of this signal ends the call with ERR_ABORTED. If the write was already sent, the cluster may
   * still apply it (`outcome: 'unknown'`).
   */
  signal?: AbortSignal | undefined
  /** Default 5 s. A call waits for a leader until the timeout, if there is no leader. */
  timeout?: Duration | undefined
}
/** `A` is the set of encodings that this call accepts. */
export interface ReadOptions<A extends As = As> extends CallOptions, ValueOptions<A> {
  consistency?: Consistency | undefined
}
/** The encoding of the values of one call. Default: the encoding with which the store was opened. */
export interface ValueOptions<A extends As = As> {
  as?: A | undefined
  /**
   * What happens to a stored value that `as` cannot decode: ERR_UNDECODABLE (the default), or it is returned
   * as `Uint8Array`. Your types must then allow a `Uint8Array`.
   */
  onUndecodable?: OnUndecodable | undefined
}
/** A hold of a lock, identified by the key of the lock and the fencing token of the hold. */
export interface Guard {
  key: Bytes
  token: number
  /**
   * The hold may be a shared hold. Without this option a write with the token of a shared hold fails with
   * ERR_FENCED, because holders of a shared lock are expected to read only.
   */
  shared?: boolean | undefined
}
export interface WriteOptions extends CallOptions {
  /**
   * The cluster applies the write only if this lock is held with this token at the entry of the write.
   * Otherwise the write fails with ERR_FENCED.
   */
  guard?: Guard | undefined
}
/**
 * How long a key exists. Without one of these options, the key exists without limit. A call with both options
 * rejects with a TypeError. See docs/keys.md.
 */
export interface KeyLife {
  /**
   * The key is deleted after this much cluster time, and not earlier. The next put of the key sets it anew.
   */
  ttl?: Duration | undefined
  /** The key is deleted when the store that put it closes, or when the session of that store ends. */
  ephemeral?: boolean | undefined
}
/** The options of writes that take or return values. */
export interface ReadWriteOptions<A extends As = As> extends WriteOptions, ValueOptions<A> {}
export interface PutOptions<A extends As = As> extends ReadWriteOptions<A>, KeyLife {}

/** Key and value in the encoding of the call. With `keysOnly` the value is undefined. */
export interface KeyValue<A extends As = 'bytes', T = unknown> {
  key: KeyAs<A>
  value: ValueAs<A, T>
}
/** A value with its revisions. A revision is the number of a write. The store counts all its writes. */
export interface EntryOfKey<A extends As = 'bytes', T = unknown> {
  value: ValueAs<A, T>
  /** The revision of the write that created the key, and the revision of the last write. */
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
   * The revision of the store at the read, which is at least modRevision. A `watch` from the next revision on
   * misses nothing.
   */
  revision: number
}
/** The revision of the write. One write has one revision for all its keys. */
export interface Revised {
  revision: number
}

/**
 * A range of keys, in the order of their bytes. `gte` and `gt`, or `lte` and `lt`, cannot be given together.
 * With `prefix`, the range has only keys that satisfy all conditions.
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
  /** The value of each row is undefined. */
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
 * A comparison with a key, or the condition that a lock is now held with a given token. The default of
 * `field` is 'value', and the default of `is` is '='. `value: undefined` means that the key is absent. The
 * numbers of an absent key are 0. Encoded values are compared: under `json` the order of an object's
 * properties counts. Under `json` and `msgpack` values are only compared with '=' and '!=', except numbers
 * with `as: 'number'`.
 */
export type Condition<A extends As = 'bytes'> =
  | {
      key: Bytes
      field?: 'value' | 'version' | 'createRevision' | 'modRevision' | undefined
      is?: '=' | '!=' | '<' | '>' | undefined
      value?: ValueIn<A> | number | undefined
      /**
       * Compares a value that is decimal text as a number: `{ key, is: '<', value: 10, as: 'number' }`. An
       * absent key counts as 0. If the value is no number, the txn fails with ERR_NOT_A_NUMBER.
       */
      as?: 'number' | undefined
    }
  | { lock: Bytes; token: number }
/**
 * If all conditions in `when` are true, the steps of `then` are applied, otherwise those of `else`, in one
 * atomic step.
 */
export interface Txn<A extends As = 'bytes'> {
  when?: readonly Condition<A>[] | undefined
  then?: readonly TxnOp<A>[] | undefined
  else?: readonly TxnOp<A>[] | undefined
}

/** The target has exactly one of `key`, `prefix` and `range`. */
export interface WatchTarget {
  key?: Bytes | undefined
  prefix?: Bytes | undefined
  range?: Pick<Range, 'gte' | 'gt' | 'lte' | 'lt'> | undefined
  /** The first revision. By default, the watch begins after the store's revision at the call. */
  from?: number | undefined
}
/**
 * A change of a key. The events of one revision come together, in the order of their operations. `value` is
 * undefined for a delete, and `previous` is undefined for a new key.
 */
export interface WatchEvent<A extends As = 'bytes', T = unknown> {
  revision: number
  type: 'put' | 'delete'
  /** The reason of a delete without a request: the key's ttl has expired, or its session has ended. */
  reason?: 'expired' | 'session' | undefined
  key: KeyAs<A>
  value: ValueAs<A, T> | undefined
  previous: ValueAs<A, T> | undefined
}

/** The options of a watch that reports only changes. */
export interface WatchOptions<A extends As = As> extends ReadOptions<A> {
  initial?: false | undefined
  resync?: false | undefined
}
export interface InitialWatchOptions<A extends As = As> extends ReadOptions<A> {
  /**
   * The watch reports first all present keys, then `{ type: 'synced', revision }`, then each change from the
   * next revision on.
   */
  initial: true
  /**
   * After a gap in the history the watch reports `{ type: 'reset' }` and then all present keys again, instead
   * of ERR_COMPACTED.
   */
  resync?: boolean | undefined
}

/**
 * `S` is the encoding of the store, `'bytes'` by default. The `as` of a call overrides `S`. `T` is the
 * type of the decoded values under `json` and `msgpack`. The caller chooses `T`, and the store does not
 * check the type.
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
   * Resolves to the values in the order of the keys, all of one moment. An absent key has the value
   * undefined. At most 4,096 keys and 15.75 MiB (ERR_TOO_LARGE).
   */
  multiGet<T = unknown, A extends As = S>(
    keys: readonly Bytes[],
    options?: ReadOptions<A>,
  ): Promise<(ValueAs<A, T> | undefined)[]>
  multiGet<T>(keys: readonly Bytes[], options: ReadOptions<Parsed>): Promise<(T | undefined)[]>
  containsKey(key: Bytes, options?: ReadOptions): Promise<boolean>
  /**
   * Resolves to the value with its revisions and the revision of the read, or to undefined if the key is
   * absent. To know the revision of the read of an absent key, use a `scan` of `{ gte: key, lte: key }`: it
   * returns an empty array with a `revision`.
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
   * Gives the key a new ttl, which begins now and replaces the former ttl. The value and its revisions stay,
   * and watches report nothing. Resolves to false if the key is absent.
   */
  touch(key: Bytes, ttl: Duration, options?: WriteOptions): Promise<boolean>
  /**
   * One atomic step. If a key is given twice, the last value counts. More than 20,000 rows are refused with
   * ERR_TOO_LARGE (see `batch`).
   */
  putAll<A extends As = S>(
    entries: Iterable<({ key: Bytes; value: ValueIn<A> } & KeyLife) | readonly [Bytes, ValueIn<A>]>,
    options?: PutOptions<A>,
  ): Promise<Revised>
  /**
   * If the key exists, it writes nothing and resolves to the present value. Otherwise it writes the value and
   * resolves to undefined.
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
  /** Resolves to the previous value, or undefined. */
  getAndPut<T = unknown, A extends As = S>(
    key: Bytes,
    value: ValueIn<A>,
    options?: ReadWriteOptions<A>,
  ): Promise<ValueAs<A, T> | undefined>
  getAndPut<T>(key: Bytes, value: ValueIn<Parsed>, options: ReadWriteOptions<Parsed>): Promise<T | undefined>
  /**
   * Resolves to true if the value was `expect`. The call has then written `update`. `expect: undefined` means
   * absent, `update: undefined` means delete.
   */
  compareAndPut<A extends As = S>(
    key: Bytes,
    expect: ValueIn<A> | undefined,
    update: ValueIn<A> | undefined,
    options?: ReadWriteOptions<A>,
  ): Promise<boolean>
  /** Applies all comparisons and writes in one atomic step. If a comparison fails, nothing is written. */
  compareAndPutAll<A extends As = S>(
    list: readonly { key: Bytes; expect?: ValueIn<A> | undefined; update?: ValueIn<A> | undefined }[],
    options?: ReadWriteOptions<A>,
  ): Promise<boolean>
  /**
   * Appends the value after a comma. An absent key gets the value alone. The call works with text and bytes.
   * In a store of `json` or `msgpack` pass `{ as: 'string' }`, otherwise the call fails with a TypeError.
   */
  merge(key: Bytes, value: Bytes, options?: ReadWriteOptions<'bytes' | 'string'>): Promise<Revised>
  /**
   * Adds to a whole number, which is stored as decimal text. An absent key counts as 0.
   * ```ts
   * const { value } = await store.increment('visits')
   * ```
   * Fails with ERR_NOT_A_NUMBER if the value is not a whole number, and with ERR_TOO_LARGE if the sum is not
   * a safe integer. A failed call changes nothing. The key keeps its ttl or its session.
   */
  increment(key: Bytes, by?: number, options?: WriteOptions): Promise<{ value: number; revision: number }>
  /** Resolves to the number of deleted keys: 1 or 0. */
  delete(key: Bytes, options?: WriteOptions): Promise<number>
  /** Resolves to the number of deleted keys. One atomic step. */
  deleteAll(keys: readonly Bytes[], options?: WriteOptions): Promise<number>
  /**
   * Resolves to the number of deleted keys, which has no limit. `end` is exclusive. Locks and sequences are
   * not affected.
   */
  deleteRange(start: Bytes, end: Bytes, options?: WriteOptions): Promise<number>
  /**
   * One atomic step. Resolves to the results in the order of the steps. A result is true for put and merge, a
   * count for delete and deleteRange, and the new value for increment. A batch and a txn have limits. Beyond
   * a limit, the call fails with ERR_TOO_LARGE and changes nothing. The limits are 20,000 rows, 128
   * deleteRange steps, 16 MiB of keys and values to read, and 16 MiB to write. The rows are the steps, the
   * conditions, and the rows that deleteRange steps delete. The written bytes include previous values.
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
   * Resolves to all rows as an array in key order, with a `revision`. For more than a few hundred rows
   * use `entries`.
   */
  scan<T = unknown, A extends As = S>(
    range?: Range,
    options?: ReadOptions<A>,
  ): Promise<AtRevision<KeyValue<A, T>>>
  scan<T>(range: Range | undefined, options: ReadOptions<Parsed>): Promise<AtRevision<KeyValue<Parsed, T>>>
  /**
   * Reads one frozen view page by page, until the end of the loop. `revision` is a promise for the revision
   * of the view.
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
   * Returns a block of `step` numbers that no other call gets, from `start` up to but not including `end`.
   * The first block begins at 0.
   */
  getSequence(key: Bytes, step: number, options?: WriteOptions): Promise<{ start: number; end: number }>
  /** Resolves to the start of the next block, or to 0 if no block was taken yet. */
  getLatestSequence(key: Bytes, options?: ReadOptions): Promise<number>
  resetSequence(key: Bytes, options?: WriteOptions): Promise<undefined>
  /**
   * Reports every change in order, without a gap or a repetition, across reconnects and changes of leader.
   * ```ts
   * const events = store.watch({ prefix: 'user/' }, { as: 'string' })
   * for await (const event of events) console.log(event.type, event.key)
   * ```
   * Throws ERR_COMPACTED if `from` is older than the history that members keep. docs/guarantees.md, "List,
   * then watch", explains `initial: true`.
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
