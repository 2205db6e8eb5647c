// Rule: what can be asked. A command is a positional array, its first place the operation; so are reads and results.
// Commands go through the log and are bytes from the moment they are made; reads never enter it.

/** Operations of commands. Numbers are on disk and on the wire: append only, never reuse. */
export const OP = {
  // sessions (docs/locks.md, 6)
  openSession: 1,
  keepAlive: 2,
  closeSession: 3,
  cancelCall: 4,
  endSession: 5,
  // keys and values
  put: 10,
  putAll: 11,
  putIfAbsent: 12,
  getAndPut: 13,
  compareAndPutAll: 14,
  merge: 15,
  deleteAll: 16,
  deleteRange: 17,
  batch: 18,
  txn: 19,
  nextSequence: 20,
  resetSequence: 21,
  increment: 22,
  touch: 23,
  // locks
  tryLock: 30,
  release: 31,
  renew: 32,
  cancelWait: 33,
  forceRelease: 34,
  releaseAll: 35,
} as const
export type Op = (typeof OP)[keyof typeof OP]

/**
 * Of a key that is put: ms of cluster time, or 0: as long as the session that puts it. Left out: for ever.
 */
export const LIFE_OF_SESSION = 0
export type LifeArg = number | undefined

type Key = Uint8Array
type Data = Uint8Array
/** [lock key, token]; null: no guard. */
export type GuardArg = readonly [key: Key, token: number] | null

/** A hold, or a place in a queue. */
export type TicketArg = readonly [key: Key, id: string]
export type RenewalArg = readonly [key: Key, id: string, token: number, lease: number]

/** Inside a batch or txn. */
export const STEP = { put: 0, merge: 1, delete: 2, deleteRange: 3, get: 4, increment: 5 } as const
export type Step =
  | readonly [step: 0, key: Key, value: Data, life?: LifeArg]
  | readonly [step: 1, key: Key, value: Data]
  | readonly [step: 2, key: Key]
  | readonly [step: 3, start: Key, end: Key]
  | readonly [step: 4, key: Key]
  | readonly [step: 5, key: Key, by: number]

export const FIELD = { value: 0, version: 1, createRevision: 2, modRevision: 3, lock: 4, number: 5 } as const
export const IS = { '=': 0, '!=': 1, '<': 2, '>': 3 } as const
/** value null: absent. Of FIELD.number: the stored text as a whole number, 0 where it is absent. Of FIELD.lock: value is the token, is must be IS['=']. */
export type ConditionArg = readonly [field: number, is: number, key: Key, value: Data | number | null]

/** A context returns as the type it was given: a string is a string on the wire, bytes are bytes. null: none. */
export type ContextArg = string | Uint8Array | null

/** Of a putAll. */
export type PairArg = readonly [key: Key, value: Data, life?: LifeArg]

export type Command =
  /**
   * Alone in its entry: the session's id is that entry's index. life in ms. by: who opened it, written by the member at whose door it
   * was asked for; what a client says there is not believed. Answer: the id.
   */
  | readonly [op: typeof OP.openSession, life: number, by?: string]
  /** For an admin, without a session, alone in its entry: its waiters leave, its holds stay. Answer: whether there was such a session. */
  | readonly [op: typeof OP.endSession, session: number]
  | readonly [op: typeof OP.keepAlive]
  | readonly [op: typeof OP.closeSession]
  /** "number" of this session, if it has not arrived yet, is answered with ERR_ABORTED and never executed. Answer: true if it was cancelled, false if it had been applied. */
  | readonly [op: typeof OP.cancelCall, number: number]
  | readonly [op: typeof OP.put, guard: GuardArg, key: Key, value: Data, life?: LifeArg]
  | readonly [op: typeof OP.putAll, guard: GuardArg, pairs: readonly PairArg[]]
  | readonly [op: typeof OP.putIfAbsent, guard: GuardArg, key: Key, value: Data]
  | readonly [op: typeof OP.getAndPut, guard: GuardArg, key: Key, value: Data]
  /** expect null: absent; update null: delete. */
  | readonly [
      op: typeof OP.compareAndPutAll,
      guard: GuardArg,
      list: readonly (readonly [key: Key, expect: Data | null, update: Data | null])[],
    ]
  | readonly [op: typeof OP.merge, guard: GuardArg, key: Key, value: Data]
  | readonly [op: typeof OP.deleteAll, guard: GuardArg, keys: readonly Key[]]
  | readonly [op: typeof OP.deleteRange, guard: GuardArg, start: Key, end: Key]
  | readonly [op: typeof OP.batch, guard: GuardArg, steps: readonly Step[]]
  | readonly [
      op: typeof OP.txn,
      guard: GuardArg,
      when: readonly ConditionArg[],
      then: readonly Step[],
      otherwise: readonly Step[],
    ]
  | readonly [op: typeof OP.nextSequence, guard: GuardArg, key: Key, step: number]
  | readonly [op: typeof OP.resetSequence, guard: GuardArg, key: Key]
  | readonly [op: typeof OP.increment, guard: GuardArg, key: Key, by: number]
  /** Another life for a key that is there, ms. Answer: whether it was. */
  | readonly [op: typeof OP.touch, guard: GuardArg, key: Key, life: number]
  /**
   * docs/locks.md, 2. fencingKey null: the store's counter. token 0: none carried. wait null: one attempt; else an asker that is refused with
   * HELD joins the queue for that many ms (0: without limit), its ticket being (key, id). Answer: [owner, queued].
   */
  | readonly [
      op: typeof OP.tryLock,
      key: Key,
      fencingKey: Key | null,
      keepLease: boolean,
      id: string,
      lease: number,
      token: number,
      context: ContextArg,
      wait: number | null,
    ]
  /** docs/locks.md, 3. all: every acquire at once. Answer: owner. */
  | readonly [op: typeof OP.release, key: Key, id: string, token: number, all: boolean]
  /** Many keepLease renewals in one command. Answer: a RenewResult. */
  | readonly [op: typeof OP.renew, list: readonly RenewalArg[]]
  /** Leaves the queue; a grant that was already made to this ticket and not yet released is released. Answer: a TicketResult from before. */
  | readonly [op: typeof OP.cancelWait, key: Key, id: string]
  /** Answer: boolean. */
  | readonly [op: typeof OP.forceRelease, key: Key, token: number]
  /**
   * Each ticket as by cancelWait, in their order and in one entry. Answer: for each the token of the hold that was given back, 0
   * where there was none.
   */
  | readonly [op: typeof OP.releaseAll, list: readonly TicketArg[]]

/** Operations of reads. */
export const READ = {
  get: 1,
  getEntry: 2,
  multiGet: 3,
  contains: 4,
  /** One page of a range over a frozen view. */
  page: 5,
  closeView: 6,
  sequence: 7,
  lockQuery: 8,
  lockOwner: 9,
  ticket: 10,
  revision: 11,
  /** The next piece of a backup, from a frozen view of the whole store. */
  backup: 12,
  /** Where a watch of locks begins. */
  lockState: 13,
} as const

export type Read =
  | readonly [read: typeof READ.get, key: Key]
  | readonly [read: typeof READ.getEntry, key: Key]
  | readonly [read: typeof READ.multiGet, keys: readonly Key[]]
  | readonly [read: typeof READ.contains, key: Key]
  /**
   * start inclusive, end exclusive (null: unbounded). view 0: opens a frozen view; more: goes on in that one. keep: leave it open.
   * part: what of the rows is wanted; 'revisions': both, and the revision of the write that made each row. Answer: a PageResult.
   */
  | readonly [
      read: typeof READ.page,
      view: number,
      keep: boolean,
      start: Key | null,
      end: Key | null,
      reverse: boolean,
      limit: number,
      part: PagePart,
    ]
  | readonly [read: typeof READ.closeView, view: number]
  | readonly [read: typeof READ.sequence, key: Key]
  /** queue: with those who wait. isKey: of that very lock, not of those below the prefix. */
  | readonly [read: typeof READ.lockQuery, prefix: Key | null, queue: boolean, isKey: boolean]
  | readonly [read: typeof READ.lockOwner, key: Key]
  | readonly [read: typeof READ.ticket, key: Key, id: string]
  | readonly [read: typeof READ.revision]
  /** start inclusive, end exclusive (null: unbounded). Answer: a LockStateResult. */
  | readonly [read: typeof READ.lockState, start: Key | null, end: Key | null]
  /** view 0: opens a frozen view of the whole store; more: goes on in that one. It needs the admin right. Answer: a BackupResult. */
  | readonly [read: typeof READ.backup, view: number]

/** Owner on the wire, in this order. context: see ContextArg. code: index into OWNER_CODES. */
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
 * One item a renewal, in their order: an owner without its context. A number: the hold goes on for so many ms after `now`, the time of the
 * entry, under the id and the token of the request, and was acquired once.
 */
export type RenewResult = readonly [now: number, items: readonly (OwnerResult | number)[]]

/** A session in the list of all. by: who opened it. idle: ms since it last said something. */
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
/** Answer of lockQuery: one a hold in force, in key order. */
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
]
/** One who waits; `waited` in ms. */
export type QueuedResult = readonly [id: string, context: ContextArg, waited: number]
/** The entry up to which the state goes, the store's revision, and the holds in force in that range. */
export type LockStateResult = readonly [
  index: number,
  revision: number,
  holds: readonly (readonly [key: Key, id: string, context: ContextArg, token: number])[],
]
/** remaining: ms that its ttl leaves; left out where it has none. */
export type EntryResult = readonly [
  createRevision: number,
  modRevision: number,
  version: number,
  value: Data,
  remaining?: number,
]
export type PagePart = 'both' | 'keys' | 'values' | 'revisions'
/** rows: keys and values as asked for, null where not. view 0: the view is closed, nothing follows. revision: the view's. */
export type PageResult = readonly [
  view: number,
  rows: readonly (readonly [key: Key | null, value: Data | null, revision?: number])[],
  revision: number,
]
/** Answer of a getEntry whose key is there. */
export type EntryReadResult = readonly [revision: number, entry: EntryResult]
/**
 * `piece` is null behind the last one, when the view is closed and 0. `total`: the bytes of all pieces up to here, so that a caller
 * who lost one notices it.
 */
export type BackupResult = readonly [view: number, piece: Data | null, total: number]
/**
 * What a command answers with (the second place of a good Answer):
 * openSession: the id · keepAlive, closeSession: true · cancelCall, endSession: boolean
 * put, putAll, merge: the revision · putIfAbsent, getAndPut: the previous value or null · compareAndPutAll: boolean
 * deleteAll, deleteRange: count · batch: [revision, StepResult[]] · txn: [succeeded, revision, StepResult[]]
 * nextSequence: [start, end] · resetSequence: true · increment: [value, revision] · touch: boolean · locks: said at each operation
 * A command that changed nothing answers with the revision as it stands. A `get` step: EntryResult or null;
 * an `increment` step: the new value.
 */
export type StepResult = true | number | EntryResult | null
/** type 0 put, 1 delete, 2 and 3 a delete since its life or its session was over; previous null: there was none. */
export const EVENT = { put: 0, delete: 1, expired: 2, session: 3 } as const
export type EventType = (typeof EVENT)[keyof typeof EVENT]
/** What happens to locks. Numbers are on the wire, above those of the changes of keys; 'rotated' has a number and no event yet. */
export const LOCK_EVENT = {
  acquired: 10,
  renewed: 11,
  rotated: 12,
  released: 13,
  expired: 14,
  queued: 15,
  left: 16,
} as const
export type LockEventName = keyof typeof LOCK_EVENT
/** What a watch is of. */
export const WATCH_OF = { keys: 0, locks: 1, renewals: 2 } as const
export type WatchOf = (typeof WATCH_OF)[keyof typeof WATCH_OF]

/**
 * Of keys, or of locks: these have the index of the entry in place of the revision, the lock's key, and as value the packed list [id,
 * context, token, revision of the store]; the token of one who waits is 0.
 */
export type EventResult = readonly [
  revision: number,
  type: EventType | (typeof LOCK_EVENT)[LockEventName],
  key: Key,
  value: Data | null,
  previous: Data | null,
]

/** An answer: [0, result] or [1 + index into ERROR_CODES, message, retryable, outcome is unknown]. */
export type Answer =
  | readonly [ok: 0, result: unknown]
  | readonly [code: number, message: string, retryable: boolean, unknown: boolean]

/**
 * In the place of an error's number: the session of a numbered command is unknown or ended, and nothing was executed
 * (docs/locks.md, 6). Only the engine meets it: a command that was never sent goes on under a new session, one that was is unknown.
 */
export const SESSION_OVER = -1

/**
 * Likewise: the session keeps as many answers as it may; nothing was executed and nothing kept of this command. The engine asks
 * again under the same number when earlier answers have been taken; the least unfinished number always finds room.
 */
export const SESSION_FULL = -2
