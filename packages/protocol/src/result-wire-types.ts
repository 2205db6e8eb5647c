// Types: the results of commands and reads, the events of watches, and answers, as they are on the wire.

import type { ContextArg } from './command-and-read-wire-types.js'

type Key = Uint8Array
type Data = Uint8Array

/**
 * The holder of a lock. The fields are the fields of Owner (lock-and-latch-types.ts), in this order. `code`
 * is an index into OWNER_CODES.
 */
export type OwnerResult = readonly [
  id: string,
  deadline: number,
  remaining: number,
  token: number,
  acquires: number,
  context: ContextArg,
  code: number,
  now: number,
]
/**
 * With `queued` the caller is in the queue. `obstacle` says why the caller neither holds the lock nor waits.
 * Either the semaphore has another number of permits, or the caller would wait for itself, or flows would
 * wait for each other.
 */
export type TryLockResult = readonly [owner: OwnerResult, queued: boolean, obstacle?: ObstacleResult]
export type ObstacleResult =
  | readonly ['mismatch', present: number]
  | readonly ['deadlock']
  | readonly ['circle', circle: readonly FlowLink[]]
export type FlowLink = readonly [flow: string, key: Uint8Array]
/**
 * The result of tryLockAll:
 * - held: the caller holds all keys. `owners` has one OwnerResult for each key.
 * - queued: the caller waits for the keys.
 * - refused: the caller neither holds the keys nor begins a wait. `owners` has the OwnerResult of one key
 *   that another caller holds. If the caller already waits in the queues, `owners` is empty.
 * - broken: the caller had all keys and has lost some of them.
 * - circle: the flows in `circle` would wait for each other.
 */
export type TryLockAllResult = readonly [
  state: 'held' | 'queued' | 'refused' | 'broken' | 'circle',
  owners: readonly OwnerResult[],
  circle?: readonly FlowLink[],
]
export const OWNER_CODES = [
  'FIRST_TIME',
  'NEW_ACQUIRE',
  'KEEP_LEASE',
  'REENTRANT',
  'KEEP_LEASE_FAIL',
  'HELD',
  'RELEASED',
  'DECREMENTED',
  'NOT_HELD',
  'EXPIRED',
  'NOT_OWNER',
] as const

/**
 * One item for each renewal, in order. For a successful renewal of a hold that was acquired once, the item is
 * a number: the rest of the renewed lease in ms. In all other cases, the item is an OwnerResult without the
 * context. `now` is the cluster time of the log entry.
 */
export type RenewResult = readonly [now: number, items: readonly (OwnerResult | number)[]]

/**
 * `by` is the identity that opened the session. `idle` is the time in ms since the last message of the
 * session's client.
 */
export type SessionResult = readonly [
  id: number,
  by: string,
  life: number,
  idle: number,
  holds: number,
  waiters: number,
]

type TicketState = 'queued' | 'granted' | 'unknown'
export type TicketResult = readonly [state: TicketState, owner: OwnerResult | null]
/**
 * One hold in the answer to lockQuery. The holds are in the order of their keys. `permits` is 0 for an
 * exclusive hold.
 */
export type LockInfoResult = readonly [
  key: Key,
  id: string,
  context: ContextArg,
  token: number,
  acquires: number,
  remaining: number,
  waiters: number,
  since: number,
  queue: readonly QueuedResult[] | null,
  permits: number,
]
/** A waiter of a lock. `waited` is in ms. */
export type QueuedResult = readonly [id: string, context: ContextArg, waited: number, permits: number]
/**
 * The holds of a range of locks at one moment. `index` is the last applied log entry. `revision` is the
 * revision of the store.
 */
export type LockStateResult = readonly [
  index: number,
  revision: number,
  holds: readonly (readonly [key: Key, id: string, context: ContextArg, token: number])[],
]
/** `remaining` is the rest of the ttl in ms, or absent if the key has no ttl. */
export type EntryResult = readonly [
  createRevision: number,
  modRevision: number,
  version: number,
  value: Data,
  remaining?: number,
]
/**
 * A page of rows. Keys or values that the client did not request are null. View 0 means that this page is the
 * last one and the view is closed. The last field is the revision of the view. The `revision` of a row is the
 * revision of its last change.
 */
export type PageResult = readonly [
  view: number,
  rows: readonly (readonly [key: Key | null, value: Data | null, revision?: number])[],
  revision: number,
]
export type EntryReadResult = readonly [revision: number, entry: EntryResult]
/**
 * A piece of a backup, or null after the last piece. The view is then closed, and `view` is 0. `total` counts
 * the bytes of all pieces so far, so that a caller notices a lost piece.
 */
export type BackupResult = readonly [view: number, piece: Data | null, total: number]
/**
 * The results of commands (the second element of a successful Answer). If a command changed nothing, the
 * revision in its result is the present revision of the store. The results of the operations of locks are in
 * command-and-read-wire-types.ts.
 *   openSession                    the id
 *   keepAlive, closeSession        true
 *   cancelCall, endSession         boolean
 *   put, putAll, merge             the revision
 *   putIfAbsent, getAndPut         the previous value or null
 *   compareAndPutAll, touch        boolean
 *   deleteAll, deleteRange         a count
 *   batch                          [revision, StepResult[]]
 *   txn                            [succeeded, revision, StepResult[]]
 *   increment                      [value, revision]
 *   nextSequence                   [start, end]
 *   resetSequence                  true
 * The result of a `get` step is an EntryResult or null. The result of an `increment` step is the new value.
 */
export type StepResult = true | number | EntryResult | null
/** `expired`: the ttl of the key has ended. `session`: the session of the key has ended. */
export const EVENT = { put: 0, delete: 1, expired: 2, session: 3 } as const
export type EventType = (typeof EVENT)[keyof typeof EVENT]
/**
 * These numbers differ from the numbers in EVENT, because the field `type` of an EventResult has a number of
 * EVENT or of LOCK_EVENT.
 */
export const LOCK_EVENT = {
  acquired: 10,
  renewed: 11,
  rotated: 12,
  released: 13,
  expired: 14,
  queued: 15,
  left: 16,
  proclaimed: 17,
} as const
export type LockEventName = keyof typeof LOCK_EVENT
export const WATCH_OF = { keys: 0, locks: 1, renewals: 2 } as const
export type WatchOf = (typeof WATCH_OF)[keyof typeof WATCH_OF]

/**
 * All changes of a lock in the last `since` ms, in order. `ago` is the age of a change in ms. The token of a
 * waiter is 0.
 */
export type LockHistoryResult = readonly [
  since: number,
  rows: readonly (readonly [
    type: (typeof LOCK_EVENT)[LockEventName],
    id: string,
    context: ContextArg,
    token: number,
    revision: number,
    ago: number,
  ])[],
]

/**
 * An event of a key or of a lock. For a lock, `revision` is the index of the log entry, `key` is the key of
 * the lock, and `value` is the packed list [id, context, token, revision of the store]. The token of a waiter
 * is 0.
 */
export type EventResult = readonly [
  revision: number,
  type: EventType | (typeof LOCK_EVENT)[LockEventName],
  key: Key,
  value: Data | null,
  previous: Data | null,
]

/** The holder of a lock. `since` is the age of the hold in ms. */
export type HolderResult = readonly [
  id: string,
  context: ContextArg,
  token: number,
  remaining: number,
  since: number,
]

/**
 * The answer to a command or read. The code of an ErrorAnswer is 1 + the index into ERROR_CODES. `unknown`
 * means that the outcome is unknown. With ERR_FENCED, `holder` is the present holder of the guard's lock, or
 * null if nobody holds the lock.
 */
export type Answer = readonly [ok: 0, result: unknown] | ErrorAnswer
export type ErrorAnswer = readonly [
  code: number,
  message: string,
  retryable: boolean,
  unknown: boolean,
  holder?: HolderResult | null,
]

/**
 * The session of the command is unknown or has ended, and the member executed nothing (docs/locks.md, 6).
 * Only the client library sees this code. If the first attempt of a command gets this code, the library sends
 * the command again in another session. If a later attempt gets this code, an earlier attempt may have been
 * executed, so the outcome is unknown.
 */
export const SESSION_OVER = -1

/**
 * The session has reached the limit of its stored answers, and the member executed nothing. The client
 * library later sends the command again with the same number. The command with the lowest unfinished number
 * never gets this code.
 */
export const SESSION_FULL = -2
