// Types: commands and reads on the wire. Each is a list that begins with the number of the operation. The log
// stores commands in this encoding. Reads never enter the log. result-wire-types.ts has the results.

import {
  type ListPageArg,
  PARTY_OP,
  PARTY_READ,
  type PartyCommand,
  type PartyRead,
} from './latch-and-barrier-operations.js'

/** Files and messages contain these numbers. Add new numbers at the end, and never reuse a number. */
export const OP = {
  // Sessions (docs/locks.md, 6)
  openSession: 1,
  keepAlive: 2,
  closeSession: 3,
  cancelCall: 4,
  endSession: 5,
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
  applyOnce: 24,
  // Locks
  tryLock: 30,
  release: 31,
  renew: 32,
  cancelWait: 33,
  forceRelease: 34,
  releaseAll: 35,
  downgrade: 36,
  resize: 37,
  proclaim: 38,
  rotate: 39,
  steal: 40,
  tryLockAll: 41,
  // Latches and barriers
  ...PARTY_OP,
} as const
type Op = (typeof OP)[keyof typeof OP]

/** As a LifeArg: the key exists until the session that put the key ends. */
export const LIFE_OF_SESSION = 0
/**
 * How long a key exists: a ttl in ms of cluster time, or LIFE_OF_SESSION. undefined means that the key exists
 * until a call deletes it.
 */
export type LifeArg = number | undefined

type Key = Uint8Array
type Data = Uint8Array
/**
 * The write is applied only while the lock `key` (lock-names-to-keys.ts) is held with `token`. With `shared`
 * the hold with this token may be shared. Without `shared` only an exclusive hold counts.
 */
export type OneGuardArg = readonly [key: Key, token: number, shared?: boolean]
/** The guard of a write: one lock, a list of locks that must all be held, or null for no guard. */
export type GuardArg = OneGuardArg | readonly OneGuardArg[] | null

export function guardsOf(guard: GuardArg): readonly OneGuardArg[] {
  if (guard === null) return []
  return (Array.isArray(guard[0]) ? guard : [guard]) as readonly OneGuardArg[]
}

/**
 * A hold of a semaphore takes `permits` of the semaphore's `of` permits. A shared hold of a lock is [1, 0],
 * because any number of holders may share a lock.
 */
export type ShareArg = readonly [permits: number, of: number]
/**
 * The flow of a request: the chain of nested lock requests of one caller. Members find deadlocks by flows.
 *
 * - name: the caller's name for the flow, or null.
 * - within: the ids of the holds inside which the caller makes the request, the innermost first.
 */
export type FlowArg = readonly [name: string | null, within: readonly string[]]

/** `permits` is 0 for an exclusive hold, and 1 for a shared hold. */
export type KeyModeArg = readonly [key: Key, permits: number]

export type TicketArg = readonly [key: Key, id: string]
export type RenewalArg = readonly [key: Key, id: string, token: number, lease: number]

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
/**
 * One condition of a txn. If `value` is null, the key must be absent. With FIELD.number the stored text is
 * read as a whole number, and an absent key counts as 0. With FIELD.lock the value is the token of the hold,
 * and `is` must be IS['='].
 */
export type ConditionArg = readonly [field: number, is: number, key: Key, value: Data | number | null]

/** The context of a hold, which the holder sets for others to read. null means no context. */
export type ContextArg = string | Uint8Array | null

/**
 * Makes a command apply only once. The command writes its answer as the value of `key`, with a ttl of `life`
 * ms. A later command with the same `key` changes nothing and gets the stored answer. With another `digest`,
 * the later command fails with ERR_MISMATCH.
 */
export type OnceArg = readonly [key: Key, digest: Data, life: number]

export type PairArg = readonly [key: Key, value: Data, life?: LifeArg]

type CommandOnItsOwn =
  /**
   * Opens a session. The index of the log entry becomes the id of the session, so the entry has no other
   * command. `life` is in ms. `by` is the identity of the client. The member that receives the request writes
   * `by`, and ignores a value from the client. Answer: the id.
   */
  | readonly [op: typeof OP.openSession, life: number, by?: string]
  /**
   * Ends the session `session`, for administrators. The entry has no other command. Waiters of the session
   * leave their queues, and holds of the session stay. Answer: whether the session was open.
   */
  | readonly [op: typeof OP.endSession, session: number]
  | readonly [op: typeof OP.keepAlive]
  | readonly [op: typeof OP.closeSession]
  /**
   * Cancels the call `number` of this session. If this call arrives later, the answer to the call is
   * ERR_ABORTED. Answer: true if the call was cancelled, false if the call was applied before.
   */
  | readonly [op: typeof OP.cancelCall, number: number]
  | readonly [op: typeof OP.put, guard: GuardArg, key: Key, value: Data, life?: LifeArg]
  | readonly [op: typeof OP.putAll, guard: GuardArg, pairs: readonly PairArg[]]
  | readonly [op: typeof OP.putIfAbsent, guard: GuardArg, key: Key, value: Data]
  | readonly [op: typeof OP.getAndPut, guard: GuardArg, key: Key, value: Data]
  /**
   * Writes if all values are as expected. With `expect` null the key must be absent. With `update` null the
   * key is deleted.
   */
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
      once?: OnceArg,
    ]
  | readonly [op: typeof OP.nextSequence, guard: GuardArg, key: Key, step: number]
  | readonly [op: typeof OP.resetSequence, guard: GuardArg, key: Key]
  | readonly [op: typeof OP.increment, guard: GuardArg, key: Key, by: number]
  /** Sets the ttl of an existing key to `life` ms. Answer: whether the key exists. */
  | readonly [op: typeof OP.touch, guard: GuardArg, key: Key, life: number]
  /**
   * Tries to acquire a lock (docs/locks.md, 2).
   *
   * - fencingKey: the counter for the token, or null for the counter of the whole store.
   * - token: the token of the caller's own hold, or 0.
   * - wait: null for one attempt. Otherwise a caller that does not get the lock waits in the queue for `wait`
   *   ms, or without limit if `wait` is 0.
   * - share: null or absent for an exclusive hold.
   * - flow: see docs/locks.md, 13.
   *
   * Answer: a TryLockResult.
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
      share?: ShareArg | null,
      flow?: FlowArg,
    ]
  /**
   * Releases a hold (docs/locks.md, 3). With `all`, a hold that was acquired several times ends too. Answer:
   * an OwnerResult.
   */
  | readonly [op: typeof OP.release, key: Key, id: string, token: number, all: boolean]
  /** Answer: a RenewResult. */
  | readonly [op: typeof OP.renew, list: readonly RenewalArg[]]
  /**
   * Removes the caller from the queue of the lock. If the caller already has the lock, the hold is released.
   * Answer: a TicketResult with the state before the command.
   */
  | readonly [op: typeof OP.cancelWait, key: Key, id: string]
  /**
   * Ends the hold with this token. The caller need not be the holder. Answer: whether such a hold existed.
   */
  | readonly [op: typeof OP.forceRelease, key: Key, token: number]
  /**
   * Like cancelWait for each ticket, in order. Answer: for each ticket the token of the released hold, or 0.
   */
  | readonly [op: typeof OP.releaseAll, list: readonly TicketArg[]]
  /** Changes an exclusive hold to a shared hold with the same token. Answer: an OwnerResult. */
  | readonly [op: typeof OP.downgrade, key: Key, id: string, token: number]
  /** Sets the number of permits of a semaphore. Holders keep their permits. Answer: true. */
  | readonly [op: typeof OP.resize, key: Key, of: number]
  /**
   * Changes the context of a hold. In an election the context is the value that the leader proclaims. Answer:
   * an OwnerResult.
   */
  | readonly [op: typeof OP.proclaim, key: Key, id: string, token: number, context: ContextArg]
  /** Gives the hold a new, higher token. Answer: an OwnerResult with the new token. */
  | readonly [op: typeof OP.rotate, key: Key, id: string, token: number]
  /**
   * Ends every hold of a web lock and grants the lock to the caller, before all waiters. Answer: a
   * TryLockResult, in which `queued` is always false.
   */
  | readonly [op: typeof OP.steal, key: Key, id: string, lease: number, context: ContextArg]
  /**
   * Acquires all keys or none (docs/locks.md, 12). With `wait` null there is one attempt. Otherwise the
   * caller waits for `wait` ms, or without limit if `wait` is 0. Answer: a TryLockAllResult.
   */
  | readonly [
      op: typeof OP.tryLockAll,
      id: string,
      list: readonly KeyModeArg[],
      fencingKey: Key | null,
      lease: number,
      context: ContextArg,
      wait: number | null,
      flow?: FlowArg,
    ]
  | PartyCommand

/**
 * The commands that applyOnce may contain. Their answers are short, and the commands name no ranges. A txn is
 * not among them, because a txn has its own OnceArg.
 */
const INNER_OPS = [
  OP.touch,
  OP.nextSequence,
  OP.resetSequence,
  OP.downgrade,
  OP.proclaim,
  OP.rotate,
  OP.resize,
  OP.createLatch,
  OP.countDown,
  OP.removeLatch,
] as const
export type InnerCommand = Extract<CommandOnItsOwn, readonly [(typeof INNER_OPS)[number], ...unknown[]]>

export type Command =
  | CommandOnItsOwn
  /**
   * Applies the inner command only once. Answer: the answer of the inner command. If the inner command changes
   * a hold, the answer to a repetition has the present token and the present end of the hold.
   */
  | readonly [op: typeof OP.applyOnce, once: OnceArg, command: InnerCommand]

export const isInnerCommand = (command: Command): command is InnerCommand =>
  (INNER_OPS as readonly number[]).includes(command[0])

export type KeyValueCommand = Extract<Command, readonly [op: Op, guard: GuardArg, ...rest: unknown[]]>

export type CommandOf<Name extends keyof typeof OP> = Extract<
  Command,
  readonly [(typeof OP)[Name], ...unknown[]]
>

export const READ = {
  get: 1,
  getEntry: 2,
  multiGet: 3,
  contains: 4,
  page: 5,
  closeView: 6,
  sequence: 7,
  lockQuery: 8,
  lockOwner: 9,
  ticket: 10,
  revision: 11,
  backup: 12,
  lockState: 13,
  lockHistory: 14,
  // Latches and barriers
  ...PARTY_READ,
} as const

export type PagePart = 'both' | 'keys' | 'values' | 'revisions'

export type Read =
  | readonly [read: typeof READ.get, key: Key]
  | readonly [read: typeof READ.getEntry, key: Key]
  | readonly [read: typeof READ.multiGet, keys: readonly Key[]]
  | readonly [read: typeof READ.contains, key: Key]
  /**
   * Reads a page of the rows in [start, end). null means no limit on that side.
   *
   * - view: 0 opens a view. Another number continues in that view.
   * - keep: true keeps the view open after this page.
   * - part: what to return of each row. 'revisions' means key, value and the revision of the last write.
   *
   * Answer: a PageResult.
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
  /**
   * Lists the holds of locks. With `queue`, each row has its waiters. With `isKey`, `prefix` is the whole
   * name of one lock. Without `isKey`, `page` can choose a part of the list. Answer: a list of
   * LockInfoResult.
   */
  | readonly [
      read: typeof READ.lockQuery,
      prefix: Key | null,
      queue: boolean,
      isKey: boolean,
      page?: ListPageArg,
    ]
  | readonly [read: typeof READ.lockOwner, key: Key]
  | readonly [read: typeof READ.ticket, key: Key, id: string]
  | readonly [read: typeof READ.revision]
  /**
   * Reads the holds of all locks in [start, end). null means no limit on that side. A watch of locks begins
   * with this read, and then receives the changes after this state. Answer: a LockStateResult.
   */
  | readonly [read: typeof READ.lockState, start: Key | null, end: Key | null]
  | readonly [read: typeof READ.lockHistory, key: Key]
  /**
   * Reads a piece of a backup. View 0 opens a view of the whole store. Another number continues in that view.
   * Answer: a BackupResult.
   */
  | readonly [read: typeof READ.backup, view: number]
  | PartyRead

export type ReadOf<Name extends keyof typeof READ> = Extract<
  Read,
  readonly [(typeof READ)[Name], ...unknown[]]
>

export type KeyRead = ReadOf<'get' | 'getEntry' | 'multiGet' | 'contains' | 'sequence'>
