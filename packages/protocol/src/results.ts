// Types: the results of commands and reads, events, and answers, as they are on the wire.

import type { ContextArg } from './operations.js'

type Key = Uint8Array
type Data = Uint8Array

/**
 * An Owner on the wire, with its fields in this order. ContextArg explains context. code is an index into
 * OWNER_CODES.
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
 * queued: the caller is in the queue. obstacle: the reason why the caller neither holds nor waits. Either
 * the semaphore has another number of permits, or the caller would wait for itself, or flows would wait
 * for each other.
 */
export type TryLockResult = readonly [owner: OwnerResult, queued: boolean, obstacle?: ObstacleResult]
export type ObstacleResult =
  | readonly ['mismatch', present: number]
  | readonly ['deadlock']
  | readonly ['circle', circle: readonly FlowLink[]]
/** A flow that waits, and the key that it waits for. */
export type FlowLink = readonly [flow: string, key: Uint8Array]
/**
 * held: all keys are held, with the owner of each key. refused: others hold a key, whose owner is given.
 * broken: this id had all keys, and has lost some of them. circle: the flow of the caller would wait for
 * itself.
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
 * One item for each renewal, in order: an owner without its context, or a number. A number means that the
 * hold was acquired once and has the id and the token of the request. The hold is valid for this many ms
 * after `now`, the time of the entry.
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

export type TicketState = 'queued' | 'granted' | 'unknown'
export type TicketResult = readonly [state: TicketState, owner: OwnerResult | null]
/** An item of the answer to lockQuery: one hold, in the order of keys. permits is 0 for an exclusive hold. */
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
/** A waiter. `waited` is in ms. */
export type QueuedResult = readonly [id: string, context: ContextArg, waited: number, permits: number]
/** The index of the last applied entry, the revision of the store, and the present holds in that range. */
export type LockStateResult = readonly [
  index: number,
  revision: number,
  holds: readonly (readonly [key: Key, id: string, context: ContextArg, token: number])[],
]
/** remaining: the rest of the ttl in ms. It is absent if the key has no ttl. */
export type EntryResult = readonly [
  createRevision: number,
  modRevision: number,
  version: number,
  value: Data,
  remaining?: number,
]
/**
 * rows: keys and values. A part that was not requested is null. view 0: the view is closed, because this page
 * is the last one. revision: the revision of the view.
 */
export type PageResult = readonly [
  view: number,
  rows: readonly (readonly [key: Key | null, value: Data | null, revision?: number])[],
  revision: number,
]
/** The answer to a getEntry of an existing key. */
export type EntryReadResult = readonly [revision: number, entry: EntryResult]
/**
 * `piece` is null after the last piece. Then the view is closed, and `view` is 0. `total` is the number of
 * bytes of all pieces so far, so that a caller notices a lost piece.
 */
export type BackupResult = readonly [view: number, piece: Data | null, total: number]
/**
 * The results of commands (the second element of a successful Answer). A command that changed nothing has
 * the present revision as its result. The operations of locks name their results in operations.ts.
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
 * The result of a `get` step is an EntryResult or null, that of an `increment` step the new value.
 */
export type StepResult = true | number | EntryResult | null
/**
 * The types of events. expired: the ttl of the key has ended. session: the session of the key has ended. The
 * previous value is null if there was none.
 */
export const EVENT = { put: 0, delete: 1, expired: 2, session: 3 } as const
export type EventType = (typeof EVENT)[keyof typeof EVENT]
/** The types of events of locks, as numbers on the wire, above the types of events of keys. */
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
/** The subject of a watch. */
export const WATCH_OF = { keys: 0, locks: 1, renewals: 2 } as const
export type WatchOf = (typeof WATCH_OF)[keyof typeof WATCH_OF]

/**
 * The kept changes of a lock, in order. since: the list has all changes of the last `since` ms. ago: in ms,
 * the time between the change and now. The token of a waiter is 0.
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
 * An event of a key or of a lock. An event of a lock has the index of the entry in place of the revision. Its
 * key is the key of the lock. Its value is the packed list [id, context, token, revision of the store]. The
 * token of a waiter is 0.
 */
export type EventResult = readonly [
  revision: number,
  type: EventType | (typeof LOCK_EVENT)[LockEventName],
  key: Key,
  value: Data | null,
  previous: Data | null,
]

/** The holder of a lock. since: in ms, how long the holder has had the lock. */
export type HolderResult = readonly [
  id: string,
  context: ContextArg,
  token: number,
  remaining: number,
  since: number,
]

/**
 * An answer: [0, result], or [1 + index into ERROR_CODES, message, retryable, outcome is unknown]. For
 * ERR_FENCED it also has the holder of the guard's lock at that entry, or null if there was none.
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
 * An answer with this number instead of an error's number says that the session of a numbered command is
 * unknown or has ended, and that nothing was executed (docs/locks.md, 6). Only the session engine handles
 * this answer. A command that was never sent before is sent in another session. The outcome of any other
 * command is unknown.
 */
export const SESSION_OVER = -1

/**
 * An answer with this number instead of an error's number says that the session already stores as many
 * answers as it may. Nothing was executed and no answer was stored. The session engine sends the command
 * again with the same number when the members have dropped earlier answers. The command with the lowest
 * unfinished number is never refused in this way.
 */
export const SESSION_FULL = -2
