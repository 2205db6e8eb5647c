// Types: the results of commands and reads, the events of watches, and the answers, in their form on the
// wire.

import type { ContextArg } from './command-and-read-wire-types.js'

type Key = Uint8Array
type Data = Uint8Array

/**
 * The holder of a lock, as the answer to a request of a lock. The fields are those of Owner
 * (lock-and-latch-types.ts), in this order. code is an index into OWNER_CODES.
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
 * The result of tryLock. queued: the caller is in the queue. obstacle: why the caller neither holds the lock
 * nor waits for the lock. There are three reasons: the semaphore has another number of permits, the caller
 * would wait for itself, or flows would wait for each other.
 */
export type TryLockResult = readonly [owner: OwnerResult, queued: boolean, obstacle?: ObstacleResult]
export type ObstacleResult =
  | readonly ['mismatch', present: number]
  | readonly ['deadlock']
  | readonly ['circle', circle: readonly FlowLink[]]
/** A flow that waits, and the key that it waits for. */
export type FlowLink = readonly [flow: string, key: Uint8Array]
/**
 * The result of tryLockAll:
 * - held: the caller holds all keys, and `owners` has one owner for each key.
 * - queued: the caller waits for the keys.
 * - refused: others hold a key, and `owners` has the owner of that key.
 * - broken: the caller had all keys and has lost some of these keys.
 * - circle: flows would wait for each other. The third element lists these flows.
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
 * One item for each renewal, in order. A number means that the hold is renewed for this many ms after `now`,
 * the cluster time of the entry. An owner, without its context, means any other outcome, or a hold that was
 * acquired several times.
 */
export type RenewResult = readonly [now: number, items: readonly (OwnerResult | number)[]]

/**
 * A session in the list of all sessions. by: the identity that opened the session. idle: ms since the last
 * message of its client.
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
 * One hold in the answer to lockQuery. The answer has the holds in the order of their keys. permits is 0 for
 * an exclusive hold.
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
/** A waiter of a lock. waited: in ms, how long the caller has waited. */
export type QueuedResult = readonly [id: string, context: ContextArg, waited: number, permits: number]
/**
 * The holds of a range of locks at one moment. index: the last applied entry. revision: the revision of the
 * store.
 */
export type LockStateResult = readonly [
  index: number,
  revision: number,
  holds: readonly (readonly [key: Key, id: string, context: ContextArg, token: number])[],
]
/** A value with its revisions. remaining: the rest of the ttl in ms, or absent if the key has no ttl. */
export type EntryResult = readonly [
  createRevision: number,
  modRevision: number,
  version: number,
  value: Data,
  remaining?: number,
]
/**
 * A page of rows. If the client did not ask for keys or for values, these parts are null. view 0: the view is
 * closed, because this page is the last one. revision: the revision of the view.
 */
export type PageResult = readonly [
  view: number,
  rows: readonly (readonly [key: Key | null, value: Data | null, revision?: number])[],
  revision: number,
]
/** The answer to a getEntry of an existing key. */
export type EntryReadResult = readonly [revision: number, entry: EntryResult]
/**
 * A piece of a backup, or null after the last piece. After the last piece the view is closed, and `view` is
 * 0. `total` counts the bytes of all pieces so far, so that a caller notices a lost piece.
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
/**
 * The types of events of keys. expired: the ttl of the key has ended. session: the session of the key has
 * ended.
 */
export const EVENT = { put: 0, delete: 1, expired: 2, session: 3 } as const
export type EventType = (typeof EVENT)[keyof typeof EVENT]
/**
 * The types of events of locks. The numbers differ from the types of events of keys, because an EventResult
 * has either type in the same field.
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
/** What a watch reports: changes of keys, changes of locks, or changes of locks with their renewals. */
export const WATCH_OF = { keys: 0, locks: 1, renewals: 2 } as const
export type WatchOf = (typeof WATCH_OF)[keyof typeof WATCH_OF]

/**
 * The recent changes of a lock, in order. The list has all changes of the last `since` ms. `ago` is the age
 * of a change in ms. The token of a waiter is 0.
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
 * An event of a key or of a lock. In the event of a lock, `revision` is the index of the log entry, and `key`
 * is the key of the lock. `value` is then the packed list [id, context, token, revision of the store]. The
 * token of a waiter is 0.
 */
export type EventResult = readonly [
  revision: number,
  type: EventType | (typeof LOCK_EVENT)[LockEventName],
  key: Key,
  value: Data | null,
  previous: Data | null,
]

/** The holder of a lock. since: in ms, how long the caller has held the lock. */
export type HolderResult = readonly [
  id: string,
  context: ContextArg,
  token: number,
  remaining: number,
  since: number,
]

/**
 * The answer to a command or read: [0, result] for a success, or an ErrorAnswer. The code of an ErrorAnswer
 * is 1 + the index into ERROR_CODES. `unknown` tells whether the outcome is unknown. An answer with
 * ERR_FENCED also names the present holder of the guard's lock, or null if nobody holds the lock.
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
 * This code in an answer means that the session of the command is unknown or has ended, and that the member
 * executed nothing (docs/locks.md, 6). Only the client's session engine sees this answer. If this attempt was
 * the first attempt of the command, the engine sends the command again in another session. Otherwise the
 * outcome of the command is unknown.
 */
export const SESSION_OVER = -1

/**
 * This code in an answer means that the session already stores as many answers as it may. The member executed
 * nothing and stored no answer. The client's session engine later sends the command again with the same
 * number. The command with the lowest unfinished number never gets this answer.
 */
export const SESSION_FULL = -2
