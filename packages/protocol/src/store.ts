// Rule: the public contract as types. What a user holds, embedded or remote, is a Store.

import type { Duration } from './duration.js'

export type Bytes = string | Uint8Array
export type As = 'bytes' | 'string' | 'json'
export type Consistency = 'linearizable' | 'stale'

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Default 5 s. */
  timeout?: Duration | undefined
}
export interface ReadOptions extends CallOptions {
  as?: As | undefined
  consistency?: Consistency | undefined
}
export interface Guard {
  key: Bytes
  token: number
}
export interface WriteOptions extends CallOptions {
  /** The write happens only if that lock is held with that token at the moment of the write, else ERR_FENCED. */
  guard?: Guard | undefined
}
/** Writes that answer with a value. */
export interface ReadWriteOptions extends WriteOptions {
  as?: As | undefined
}

// oxlint-disable-next-line typescript/no-explicit-any -- with `as: 'json'` a value is whatever was stored
export type Value = any
export interface KeyValue {
  key: Value
  value: Value
}
export interface EntryOfKey {
  value: Value
  createRevision: number
  modRevision: number
  version: number
}
export interface Revised {
  revision: number
}

export interface Range {
  gte?: Bytes | undefined
  gt?: Bytes | undefined
  lte?: Bytes | undefined
  lt?: Bytes | undefined
  prefix?: Bytes | undefined
  limit?: number | undefined
  reverse?: boolean | undefined
  keysOnly?: boolean | undefined
}

export type WriteOp =
  | { type: 'put'; key: Bytes; value: Bytes }
  | { type: 'merge'; key: Bytes; value: Bytes }
  | { type: 'delete'; key: Bytes }
  | { type: 'deleteRange'; start: Bytes; end: Bytes }
export type TxnOp = WriteOp | { type: 'get'; key: Bytes }
export type Condition =
  | {
      key: Bytes
      field?: 'value' | 'version' | 'createRevision' | 'modRevision' | undefined
      is?: '=' | '!=' | '<' | '>' | undefined
      value?: Bytes | number | undefined
    }
  | { lock: Bytes; token: number }
export interface Txn {
  when?: readonly Condition[] | undefined
  then?: readonly TxnOp[] | undefined
  else?: readonly TxnOp[] | undefined
}

export interface WatchTarget {
  key?: Bytes | undefined
  prefix?: Bytes | undefined
  range?: Pick<Range, 'gte' | 'gt' | 'lte' | 'lt'> | undefined
  /** Inclusive; without it the watch begins after the store's revision at the moment of the call. */
  from?: number | undefined
}
export interface WatchEvent {
  revision: number
  type: 'put' | 'delete'
  key: Value
  value: Value
  previous: Value
}

export interface KeyValueCalls {
  get(key: Bytes, options?: ReadOptions): Promise<Value>
  multiGet(keys: readonly Bytes[], options?: ReadOptions): Promise<Value[]>
  containsKey(key: Bytes, options?: ReadOptions): Promise<boolean>
  getEntry(key: Bytes, options?: ReadOptions): Promise<EntryOfKey | undefined>
  put(key: Bytes, value: Bytes, options?: WriteOptions): Promise<Revised>
  putAll(
    entries: Iterable<{ key: Bytes; value: Bytes } | readonly [Bytes, Bytes]>,
    options?: WriteOptions,
  ): Promise<Revised>
  putIfAbsent(key: Bytes, value: Bytes, options?: ReadWriteOptions): Promise<Value>
  getAndPut(key: Bytes, value: Bytes, options?: ReadWriteOptions): Promise<Value>
  compareAndPut(
    key: Bytes,
    expect: Bytes | undefined,
    update: Bytes | undefined,
    options?: WriteOptions,
  ): Promise<boolean>
  compareAndPutAll(
    list: readonly { key: Bytes; expect?: Bytes | undefined; update?: Bytes | undefined }[],
    options?: WriteOptions,
  ): Promise<boolean>
  merge(key: Bytes, value: Bytes, options?: WriteOptions): Promise<Revised>
  delete(key: Bytes, options?: WriteOptions): Promise<number>
  deleteAll(keys: readonly Bytes[], options?: WriteOptions): Promise<number>
  deleteRange(start: Bytes, end: Bytes, options?: WriteOptions): Promise<number>
  batch(
    ops: readonly WriteOp[],
    options?: WriteOptions,
  ): Promise<{ revision: number; results: (true | number)[] }>
  txn(
    txn: Txn,
    options?: ReadWriteOptions,
  ): Promise<{ succeeded: boolean; results: (true | number | EntryOfKey | undefined)[]; revision: number }>
  scan(range?: Range, options?: ReadOptions): Promise<KeyValue[]>
  entries(range?: Range, options?: ReadOptions): AsyncIterableIterator<KeyValue>
  keys(range?: Range, options?: ReadOptions): AsyncIterableIterator<Value>
  values(range?: Range, options?: ReadOptions): AsyncIterableIterator<Value>
  getSequence(key: Bytes, step: number, options?: WriteOptions): Promise<{ start: number; end: number }>
  getLatestSequence(key: Bytes, options?: ReadOptions): Promise<number>
  resetSequence(key: Bytes, options?: WriteOptions): Promise<undefined>
  watch(target: WatchTarget, options?: ReadOptions): AsyncIterableIterator<WatchEvent>
}

// ---- locks

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

export const FIRST_TIME_SUCCESS = -1
export const NEW_ACQUIRE_SUCCESS = -2
export const KEEP_LEASE_SUCCESS = -3
export const REENTRANT_SUCCESS = -4
export const KEEP_LEASE_FAIL = Number.MAX_SAFE_INTEGER

export interface Owner {
  id: string
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
export interface Acquirer {
  id: string
  lease: Duration
  fencingToken?: number | null | undefined
  context?: Bytes | undefined
}

export interface LockInfo {
  key: Value
  id: string
  context: Bytes | undefined
  fencingToken: number
  acquires: number
  remainingMillis: number
  waiters: number
}

// ---- the store

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
  members: MemberStatus[]
}
export interface MemberCalls {
  add(id: string, url: string, options?: CallOptions): Promise<void>
  promote(id: string, options?: CallOptions): Promise<void>
  update(id: string, url: string, options?: CallOptions): Promise<void>
  remove(id: string, options?: CallOptions): Promise<void>
  rebuild(id: string, options?: CallOptions): Promise<void>
}
export interface ClusterCalls {
  ready(options?: CallOptions): Promise<void>
  status(options?: CallOptions): Promise<Status>
  readonly members: MemberCalls
  transferLeadership(id?: string, options?: CallOptions): Promise<void>
  /** Compacts now. */
  snapshot(options?: CallOptions): Promise<void>
  backup(path: string, options?: CallOptions): Promise<void>
  close(): Promise<void>
}
// A type, not an interface: an Emitter's events are a Record.
export type StoreEvents = {
  leader: { id: string | undefined; term: number }
  role: { role: Status['role']; term: number }
  member: { id: string; change: 'added' | 'promoted' | 'updated' | 'removed' }
}
