// Rule: the public contract as types. What a user holds, embedded or remote, is a Store.
// long: the public contract reads as one text

import type { Duration } from './duration.js'
import type { As, Bytes, KeyAs, OnUndecodable, Parsed, ValueAs, ValueIn } from './encodings.js'
import type { AtRevision, InitialWatchEvent, RangeIterator } from './revision-types.js'

/** `linearizable` sees every write that was acknowledged before. `stale` asks the nearest member and may be behind. */
export type Consistency = 'linearizable' | 'stale'

/** What every call takes last. */
export interface CallOptions {
  /** Gives the call up: ERR_ABORTED. A write that had been sent may still happen (`outcome: 'unknown'`). */
  signal?: AbortSignal | undefined
  /** Default 5 s. A leader that is missing is waited for until then. */
  timeout?: Duration | undefined
}
/** `A`: what `as` may be here. */
export interface ReadOptions<A extends As = As> extends CallOptions, ValueOptions<A> {
  consistency?: Consistency | undefined
}
/** How the values of one call are read and written; default: as the store was opened. */
export interface ValueOptions<A extends As = As> {
  as?: A | undefined
  /** A stored value that is not what `as` says: ERR_UNDECODABLE (the default), or it comes as `Uint8Array`. Say so in your types then. */
  onUndecodable?: OnUndecodable | undefined
}
/** A hold of a lock, named by its key and its fencing token. */
export interface Guard {
  key: Bytes
  token: number
}
export interface WriteOptions extends CallOptions {
  /** The write happens only if that lock is held with that token at the moment of the write, else ERR_FENCED. */
  guard?: Guard | undefined
}
/** How long a key is there: for ever, unless one of these is said. Both together are a TypeError. docs/keys.md */
export interface KeyLife {
  /** It goes when so much cluster time has passed, and is there until then; the next put says anew. */
  ttl?: Duration | undefined
  /** It goes when the store that puts it closes, or its session ends. */
  ephemeral?: boolean | undefined
}
/** Writes of values, and those that answer with one. */
export interface ReadWriteOptions<A extends As = As> extends WriteOptions, ValueOptions<A> {}
export interface PutOptions<A extends As = As> extends ReadWriteOptions<A>, KeyLife {}

/** Both as the call's `as` says; with `keysOnly` the value is undefined. */
export interface KeyValue<A extends As = 'bytes', T = unknown> {
  key: KeyAs<A>
  value: ValueAs<A, T>
}
/** A value and where it comes from. Revisions count the writes of the whole store. */
export interface EntryOfKey<A extends As = 'bytes', T = unknown> {
  value: ValueAs<A, T>
  /** Of the write that made the key, and of the last one. */
  createRevision: number
  modRevision: number
  /** How often the key was written since it was made: 1, 2, 3 ... */
  version: number
  /** What is left of its ttl; undefined: it has none. */
  remainingMillis?: number | undefined
}
/** What `getEntry` finds. */
export interface EntryAtRevision<A extends As = 'bytes', T = unknown> extends EntryOfKey<A, T> {
  /** The store's revision that was read, never less than modRevision: `watch` from the one after it misses nothing. */
  revision: number
}
/** The store's revision after the write: it takes one for all its keys. */
export interface Revised {
  revision: number
}

/** In byte order. Not both of gte and gt, or of lte and lt; `prefix` narrows what they say. */
export interface Range {
  gte?: Bytes | undefined
  gt?: Bytes | undefined
  lte?: Bytes | undefined
  lt?: Bytes | undefined
  prefix?: Bytes | undefined
  /** At most so many; 0: none. */
  limit?: number | undefined
  reverse?: boolean | undefined
  /** Values come back undefined. */
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
 * A comparison of a key (`field` is 'value' and `is` is '=' where they are left out; `value: undefined` means absent; the numbers of an
 * absent key are 0), or that a lock is held with that token now. Values are compared as they are encoded, so under `json` the order of an
 * object's properties counts, and under `json` and `msgpack` values are compared with '=' and '!=' alone, numbers with `as: 'number'` too.
 */
export type Condition<A extends As = 'bytes'> =
  | {
      key: Bytes
      field?: 'value' | 'version' | 'createRevision' | 'modRevision' | undefined
      is?: '=' | '!=' | '<' | '>' | undefined
      value?: ValueIn<A> | number | undefined
      /**
       * The value as a number, of decimal text: `{ key, is: '<', value: 10, as: 'number' }`. What is absent counts as 0; what is no number
       * ends the txn with ERR_NOT_A_NUMBER.
       */
      as?: 'number' | undefined
    }
  | { lock: Bytes; token: number }
/** If all of `when` hold, `then` happens, otherwise `else`: one atomic step. */
export interface Txn<A extends As = 'bytes'> {
  when?: readonly Condition<A>[] | undefined
  then?: readonly TxnOp<A>[] | undefined
  else?: readonly TxnOp<A>[] | undefined
}

/** One of `key`, `prefix` and `range`. */
export interface WatchTarget {
  key?: Bytes | undefined
  prefix?: Bytes | undefined
  range?: Pick<Range, 'gte' | 'gt' | 'lte' | 'lt'> | undefined
  /** Inclusive; without it the watch begins after the store's revision at the moment of the call. */
  from?: number | undefined
}
/** Events of one revision come together, in the order of their operations. `value` is undefined of a delete, `previous` of a new key. */
export interface WatchEvent<A extends As = 'bytes', T = unknown> {
  revision: number
  type: 'put' | 'delete'
  /** Of a delete that nobody asked for: the key's ttl was over, or the session that it was bound to. */
  reason?: 'expired' | 'session' | undefined
  key: KeyAs<A>
  value: ValueAs<A, T> | undefined
  previous: ValueAs<A, T> | undefined
}

/** Of a watch that tells changes alone. */
export interface WatchOptions<A extends As = As> extends ReadOptions<A> {
  initial?: false | undefined
  resync?: false | undefined
}
export interface InitialWatchOptions<A extends As = As> extends ReadOptions<A> {
  /** First what is there, then `{ type: 'synced', revision }`, then each change from the next revision on. */
  initial: true
  /** After ERR_COMPACTED, `{ type: 'reset' }` and all of that again, instead of the error. */
  resync?: boolean | undefined
}

/**
 * `S`: the encoding of the store, `'bytes'` unless it was opened with another one; a call's own `as` goes before it. Of a call that reads
 * values `T` is what you know of them, under `json` and `msgpack`; it is not checked.
 */
export interface KeyValueCalls<S extends As = 'bytes'> {
  /** The encoding of calls that do not say. */
  readonly as: S
  /**
   * The value, or undefined.
   * ```ts
   * const bytes = await store.get('user/1') // Uint8Array | undefined
   * const text = await store.get('user/1', { as: 'string' })
   * const user = await store.get<{ name: string }>('user/1', { as: 'json' })
   * ```
   */
  get<T = unknown, A extends As = S>(key: Bytes, options?: ReadOptions<A>): Promise<ValueAs<A, T> | undefined>
  get<T>(key: Bytes, options: ReadOptions<Parsed>): Promise<T | undefined>
  /** In the order asked; undefined where a key is absent. All of one moment. 4,096 keys and 15.75 MiB at the most (ERR_TOO_LARGE). */
  multiGet<T = unknown, A extends As = S>(
    keys: readonly Bytes[],
    options?: ReadOptions<A>,
  ): Promise<(ValueAs<A, T> | undefined)[]>
  multiGet<T>(keys: readonly Bytes[], options: ReadOptions<Parsed>): Promise<(T | undefined)[]>
  containsKey(key: Bytes, options?: ReadOptions): Promise<boolean>
  /**
   * The value with its revisions and the one that was read, or undefined. Which revision an absent key was read at is told by a
   * `scan` of `{ gte: key, lte: key }`, which is an empty array with a `revision`.
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
   * A new life for a key: it goes when so much time has passed from now on, whatever life it had. Its value and its revisions stay, and no
   * watch is told. False: there is no such key.
   */
  touch(key: Bytes, ttl: Duration, options?: WriteOptions): Promise<boolean>
  /** One atomic step; of a key that comes twice the last wins. 20,000 rows at the most (ERR_TOO_LARGE; see `batch`). */
  putAll<A extends As = S>(
    entries: Iterable<({ key: Bytes; value: ValueIn<A> } & KeyLife) | readonly [Bytes, ValueIn<A>]>,
    options?: PutOptions<A>,
  ): Promise<Revised>
  /** Answers with the value that was there, and changes nothing then; undefined: written. */
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
  /** Answers with the value that was there before, or undefined. */
  getAndPut<T = unknown, A extends As = S>(
    key: Bytes,
    value: ValueIn<A>,
    options?: ReadWriteOptions<A>,
  ): Promise<ValueAs<A, T> | undefined>
  getAndPut<T>(key: Bytes, value: ValueIn<Parsed>, options: ReadWriteOptions<Parsed>): Promise<T | undefined>
  /** True if the value was `expect` and is now `update`. `expect: undefined` means absent, `update: undefined` means delete. */
  compareAndPut<A extends As = S>(
    key: Bytes,
    expect: ValueIn<A> | undefined,
    update: ValueIn<A> | undefined,
    options?: ReadWriteOptions<A>,
  ): Promise<boolean>
  /** All or nothing. */
  compareAndPutAll<A extends As = S>(
    list: readonly { key: Bytes; expect?: ValueIn<A> | undefined; update?: ValueIn<A> | undefined }[],
    options?: ReadWriteOptions<A>,
  ): Promise<boolean>
  /**
   * Appends, with a comma between; an absent key gets the value alone. It is for text and bytes: in a store of `json` or `msgpack` pass
   * `{ as: 'string' }`, else it is a TypeError.
   */
  merge(key: Bytes, value: Bytes, options?: ReadWriteOptions<'bytes' | 'string'>): Promise<Revised>
  /**
   * Adds to a whole number, kept as decimal text; an absent key counts as 0.
   * ```ts
   * const { value } = await store.increment('visits')
   * ```
   * ERR_NOT_A_NUMBER where something else is stored, ERR_TOO_LARGE where the sum is no safe integer: nothing is changed then. What life
   * the key has, it keeps.
   */
  increment(key: Bytes, by?: number, options?: WriteOptions): Promise<{ value: number; revision: number }>
  /** How many were removed: 1 or 0. */
  delete(key: Bytes, options?: WriteOptions): Promise<number>
  /** How many were removed; one atomic step. */
  deleteAll(keys: readonly Bytes[], options?: WriteOptions): Promise<number>
  /** How many were removed, as many as there are; `end` is exclusive. Locks and sequences are not touched. */
  deleteRange(start: Bytes, end: Bytes, options?: WriteOptions): Promise<number>
  /**
   * One atomic step. Results in order: true for put and merge, a count for delete and deleteRange, the new value
   * for increment. It has a budget, as a txn has
   * (ERR_TOO_LARGE beyond, nothing changed): 20,000 rows, which are its steps, its conditions and each row that a deleteRange in it
   * removes; 128 deleteRange steps; 16 MiB of keys and values that it reads, and 16 MiB that it writes, the values before counted.
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
  /** All at once, in key order, and its `revision`: for more than a few hundred rows take `entries`. */
  scan<T = unknown, A extends As = S>(
    range?: Range,
    options?: ReadOptions<A>,
  ): Promise<AtRevision<KeyValue<A, T>>>
  scan<T>(range: Range | undefined, options: ReadOptions<Parsed>): Promise<AtRevision<KeyValue<Parsed, T>>>
  /** Over one frozen view, page by page; ends with the loop, also by `break`. `revision` is a promise of the view's. */
  entries<T = unknown, A extends As = S>(
    range?: Range,
    options?: ReadOptions<A>,
  ): RangeIterator<KeyValue<A, T>>
  entries<T>(range: Range | undefined, options: ReadOptions<Parsed>): RangeIterator<KeyValue<Parsed, T>>
  keys<A extends As = S>(range?: Range, options?: ReadOptions<A>): RangeIterator<KeyAs<A>>
  values<T = unknown, A extends As = S>(range?: Range, options?: ReadOptions<A>): RangeIterator<ValueAs<A, T>>
  values<T>(range: Range | undefined, options: ReadOptions<Parsed>): RangeIterator<T>
  /** A block of `step` numbers that nobody else gets: from `start`, to `end` exclusive. The first begins at 0. */
  getSequence(key: Bytes, step: number, options?: WriteOptions): Promise<{ start: number; end: number }>
  /** Where the next block would start; 0 if unused. */
  getLatestSequence(key: Bytes, options?: ReadOptions): Promise<number>
  resetSequence(key: Bytes, options?: WriteOptions): Promise<undefined>
  /**
   * Every change in order, without a gap or a repeat, across reconnects and changes of leader.
   * ```ts
   * for await (const event of store.watch({ prefix: 'user/' }, { as: 'string' })) console.log(event.type, event.key)
   * ```
   * Throws ERR_COMPACTED where `from` is older than the history that is kept. With `initial: true`: docs/guarantees.md, "List, then
   * watch".
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

// ---- locks

/** What became of it. Of an acquire the first four are success; of a release RELEASED and DECREMENTED are. */
export type OwnerCode =
  | 'FIRST_TIME'
  | 'NEW_ACQUIRE'
  | 'KEEP_LEASE'
  | 'REENTRANT'
  | 'KEEP_LEASE_FAIL'
  | 'HELD'
  | 'RELEASED'
  | 'DECREMENTED'
  | 'NOT_HELD'
  | 'EXPIRED'
  | 'NOT_OWNER'

/** RheaKV's numbers, in `remainingMillis` of an acquire that succeeded. */
export const FIRST_TIME_SUCCESS = -1
export const NEW_ACQUIRE_SUCCESS = -2
export const KEEP_LEASE_SUCCESS = -3
export const REENTRANT_SUCCESS = -4
/** RheaKV's number for a lease that could not be kept: there was nothing to keep. */
export const KEEP_LEASE_FAIL = Number.MAX_SAFE_INTEGER

/** Who holds a lock, and what the entry that was asked for decided. */
export interface Owner {
  id: string
  /** In cluster time, as `nowMillis` is: comparable with each other, not with a wall clock. */
  deadlineMillis: number
  /** On success of an acquire RheaKV's number (see the constants), of a refusal what is left of the lease. */
  remainingMillis: number
  fencingToken: number
  acquires: number
  context: Bytes | undefined
  success: boolean
  code: OwnerCode
  /** The cluster time of the entry that decided. */
  nowMillis: number
}
/** Who asks. Draw a random `id` for each hold; the same id again is the same acquirer. */
export interface Acquirer {
  id: string
  lease: Duration
  fencingToken?: number | null | undefined
  context?: Bytes | undefined
}

/** A hold in force, as `locks.query` lists it. */
export interface LockInfo<A extends As = 'bytes'> {
  key: KeyAs<A>
  id: string
  context: Bytes | undefined
  fencingToken: number
  acquires: number
  remainingMillis: number
  /** For how long it has been held. */
  sinceMillis: number
  waiters: number
  /** In their order, with `{ queue: true }`. */
  queue?: QueuedInfo[] | undefined
}
/** One who waits for a lock. */
export interface QueuedInfo {
  id: string
  context: Bytes | undefined
  waitedMillis: number
}
export interface LockQueryOptions<A extends As = As> extends ReadOptions<A> {
  /** Also tells who waits for each lock. Default false. */
  queue?: boolean | undefined
}

// ---- the store

/** A member, as the member that answers knows it. */
export interface MemberStatus {
  id: string
  url: string
  role: 'voter' | 'learner'
  /** Entries it lacks, as the leader knows it; undefined where this is not known. */
  lag: number | undefined
  alive: boolean | undefined
}
export interface Status {
  id: string
  role: 'leader' | 'follower' | 'candidate' | 'learner'
  leader: string | undefined
  term: number
  commit: number
  applied: number
  clusterTime: number
  /** Drawn when the cluster was founded; '' until this member knows it. What `connect` and `open` take to accept no other one. */
  clusterId: string
  members: MemberStatus[]
  /** What this member keeps on its disk; undefined where it keeps everything in memory. */
  disk?: DiskUse | undefined
}
export interface DiskUse {
  /** Keys, locks, sessions and the history for watches. */
  stateBytes: number
  logBytes: number
}
/** Bytes on the disk of the member that compacted; 0 where it keeps everything in memory. */
export interface SnapshotResult {
  bytesBefore: number
  bytesAfter: number
}
/**
 * Changes of the cluster, one at a time, by anybody with the admin right: ERR_CONFIG_CHANGE_IN_PROGRESS, retryable, while another
 * one's is under way. How they go together: docs/operations.md.
 */
export interface MemberCalls {
  /** As a learner: it follows and does not vote. */
  add(id: string, url: string, options?: CallOptions): Promise<void>
  /** A learner becomes a voter. ERR_BUSY, retryable, while it lags. */
  promote(id: string, options?: CallOptions): Promise<void>
  /** Another address. */
  update(id: string, url: string, options?: CallOptions): Promise<void>
  /** It takes no part from then on; stop it afterwards. */
  remove(id: string, options?: CallOptions): Promise<void>
  /** Its state is built anew from the others, for a damaged one; its log, and so its vote, stays. */
  rebuild(id: string, options?: CallOptions): Promise<void>
}
/** What a store needs to write, lock and wait: each has one, and opens it at its first such call. */
export interface SessionInfo {
  id: number
  /** The token's name, or the address, of whoever opened it, as the member there knew them. */
  openedBy: string
  /** How long it survives a silence. */
  lifeMillis: number
  /** Since it last said something. */
  idleMillis: number
  remainingMillis: number
  /** Locks in force that were asked for through it. They outlive it, until their leases are over. */
  holds: number
  /** Places in queues: these end with it. */
  waiters: number
}
/** For an admin. Both work where no session can be opened any more. */
export interface SessionCalls {
  /** All that are open, by their numbers. */
  list(options?: CallOptions): Promise<SessionInfo[]>
  /**
   * Its waiters leave their queues, its holds stay until their leases are over, and a store that comes back opens another one.
   * Resolves whether there was such a session.
   */
  end(id: number, options?: CallOptions): Promise<boolean>
}
export interface BackupOptions extends CallOptions {
  /** A file of that name is replaced, once the new one is whole. Without it, a file that is there is an error. */
  overwrite?: boolean | undefined
  /** Called with the bytes written so far, after each piece. */
  progress?: ((bytes: number) => void) | undefined
}
export interface ClusterCalls {
  /**
   * Resolves when a leader is known and this member has caught up. Rejects with ERR_NO_LEADER, and `missing`, after 30 s or the
   * `timeout` that is given.
   */
  ready(options?: CallOptions): Promise<void>
  status(options?: CallOptions): Promise<Status>
  readonly members: MemberCalls
  readonly sessions: SessionCalls
  /**
   * To that member, or to the one that is furthest. ERR_TIMEOUT: it stayed where it was; ERR_OUTCOME_UNKNOWN: the other one was asked to
   * take over, and may still do so.
   */
  transferLeadership(id?: string, options?: CallOptions): Promise<void>
  /**
   * Compacts now: the log, and the disk space of what was removed. It says how much the member that was asked had on its disk before and
   * after. Members do so by themselves now and then, and after much was removed.
   */
  snapshot(options?: CallOptions): Promise<SnapshotResult>
  /**
   * Everything, of one moment, into a new file on the caller's own machine, with a checksum over all of it. It needs the admin right.
   * Without `timeout` it goes on as long as its pieces come.
   */
  backup(path: string, options?: BackupOptions): Promise<void>
  /**
   * Idempotent. Ends pending calls with ERR_CLOSED; the signals of its holds abort with ERR_CLOSED, and then all of them are released
   * in one request, so that the next in each queue has the lock at once; an embedded leader hands over. A cluster that does not
   * answer is waited for no longer than 2 s: the leases then run out.
   */
  close(options?: CloseOptions): Promise<void>
}
export interface CloseOptions {
  /** Default 'release'. 'keep': the holds stay until their leases are over. */
  holds?: 'release' | 'keep' | undefined
}
// A type, not an interface: an Emitter's events are a Record.
export type StoreEvents = {
  leader: { id: string | undefined; term: number }
  role: { role: Status['role']; term: number }
  member: { id: string; change: 'added' | 'promoted' | 'updated' | 'removed' }
  /** Of a store of `connect`: it has a connection to a member; it has none any more; it has left one member for another. */
  connected: { url: string }
  disconnected: { url: string; error: Error }
  moved: { from: string; to: string }
  /** Of a store of `open`: its member reaches no majority of the members any more, or one again. */
  quorum: { lost: boolean }
}
