// Rule: the table of error codes. Each error that a caller gets is a TypeError or a LatchkeyError with a code
// of this table.

import type { Bytes } from './key-and-value-encodings.js'
import type { Owner } from './lock-and-latch-types.js'

export type Outcome = 'not-applied' | 'unknown'

interface Row {
  readonly retryable: boolean
  readonly outcome: Outcome
  /** The default message, which says what the error means and what to do next. */
  readonly message: string
  /** The fields that an error with this code may have, besides `code`, `retryable`, `outcome` and `cause`. */
  readonly fields: readonly ErrorField[]
}

/** docs/errors.md explains each field. */
export type ErrorField =
  | 'key'
  | 'token'
  | 'holder'
  | 'owner'
  | 'waitedMillis'
  | 'leader'
  | 'missing'
  | 'revision'
  | 'clusters'
  | 'present'
  | 'circle'

export const ERRORS = {
  ERR_NO_LEADER: {
    retryable: true,
    outcome: 'not-applied',
    message:
      'The client found no leader before the deadline. Check that a majority of the members runs and that these members reach each other. Then try again.',
    fields: ['missing', 'leader', 'key', 'waitedMillis'],
  },
  ERR_BUSY: {
    retryable: true,
    outcome: 'not-applied',
    message: 'Too many requests are open. Wait a little and try again.',
    fields: ['leader'],
  },
  ERR_TIMEOUT: {
    retryable: true,
    outcome: 'not-applied',
    message:
      'The deadline passed before the call was done. The call changed nothing. Try again, or allow more time.',
    fields: ['leader', 'missing', 'key', 'holder', 'waitedMillis'],
  },
  ERR_OUTCOME_UNKNOWN: {
    retryable: false,
    outcome: 'unknown',
    message:
      'The client sent the call, but the answer did not come in time. The cluster may have applied the call. Read the state before you decide.',
    fields: ['leader', 'missing'],
  },
  ERR_ABORTED: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The signal aborted the call. The cause explains the reason. Repeat the call if you still need it.',
    fields: [],
  },
  ERR_CLOSED: {
    retryable: false,
    outcome: 'not-applied',
    message: 'The store is closed. Open or connect a new one.',
    fields: [],
  },
  ERR_TOO_LARGE: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'A key has more than 4 KiB, a value more than 1 MiB, or a command more than 4 MiB. Split the command or the data.',
    fields: [],
  },
  ERR_COMPACTED: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The history no longer contains this revision. Read the current state, and watch from its revision on.',
    fields: [],
  },
  ERR_NOT_OWNER: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The caller does not hold this lock. Acquire the lock first, and unlock only locks that you acquired.',
    fields: ['key', 'token', 'owner'],
  },
  ERR_LOCK_LOST: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The lock was lost because its lease is over. Stop the work under this lock, and acquire the lock again.',
    fields: ['key', 'token'],
  },
  ERR_FENCED: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The store refused the write, because no hold with this token is in force. Stop the work under this lock. If the work is still necessary, acquire the lock again.',
    fields: ['key', 'token', 'holder'],
  },
  ERR_UNAUTHORIZED: {
    retryable: false,
    outcome: 'not-applied',
    message: 'The credentials are missing or not valid. Pass a token of this cluster.',
    fields: [],
  },
  ERR_FORBIDDEN: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The credentials do not allow this call. Use a token with the necessary right (read, write or admin).',
    fields: [],
  },
  ERR_WRONG_CLUSTER: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The member or the directory belongs to another cluster, member or incarnation. Check the addresses, dir, id, and the name of the cluster.',
    fields: ['clusters'],
  },
  ERR_DIR_LOCKED: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'Another process uses this directory. Give each process its own directory, or run one sidecar and connect to it.',
    fields: [],
  },
  ERR_CORRUPT: {
    retryable: false,
    outcome: 'not-applied',
    message: 'Stored data is damaged. Rebuild this member from the other members, or restore a backup.',
    fields: [],
  },
  ERR_STORAGE_FAILED: {
    retryable: false,
    outcome: 'unknown',
    message: 'The disk failed, and this member has stopped. Repair the disk, then start the member.',
    fields: [],
  },
  ERR_PROTOCOL: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The other side sent a message that this version does not understand. Check that both sides run compatible versions.',
    fields: [],
  },
  ERR_CONFIG_CHANGE_IN_PROGRESS: {
    retryable: true,
    outcome: 'not-applied',
    message: 'Another change of members is under way. Wait until it is finished, then try again.',
    fields: [],
  },
  ERR_DEADLOCK: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'This flow already holds the lock, and would wait for itself for ever. Use your present hold, or pass a wait.',
    fields: ['key', 'circle'],
  },
  ERR_NOT_A_NUMBER: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The stored value is not the decimal text of a safe integer. The call changed nothing. Put a number first, or use another key.',
    fields: ['key'],
  },
  ERR_MISMATCH: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'An argument of the call does not fit the stored state. The message describes the stored state. Correct the argument.',
    fields: ['key', 'present'],
  },
  ERR_UNDECODABLE: {
    retryable: false,
    outcome: 'not-applied',
    message:
      "The stored value does not have the encoding of `as`. Read it with { as: 'bytes' }, or use { onUndecodable: 'bytes' }.",
    fields: ['key', 'revision'],
  },
  ERR_BARRIER_BROKEN: {
    retryable: true,
    outcome: 'not-applied',
    message:
      'The generation of the barrier is broken, because the session of a waiting party ended. Repair the work before the barrier if necessary, then enter again.',
    fields: ['key'],
  },
} as const satisfies Record<string, Row>

export type ErrorCode = keyof typeof ERRORS

/** A code's place in this list is its number on the wire. Add new codes only at the end. */
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[]

/** The fields of a new LatchkeyError. The class LatchkeyError explains each field. */
export interface ErrorOptions {
  readonly cause?: unknown
  readonly outcome?: Outcome | undefined
  readonly retryable?: boolean
  readonly owner?: Owner
  readonly clusters?: Readonly<Record<string, readonly string[]>> | undefined
  readonly missing?: readonly string[] | undefined
  readonly key?: Bytes | undefined
  readonly revision?: number | undefined
  readonly waitedMillis?: number | undefined
  readonly token?: number | undefined
  readonly holder?: LockHolder | undefined
  readonly present?: number | undefined
  readonly leader?: string | undefined
  readonly circle?: readonly WaitingFlow[] | undefined
}

interface WaitingFlow {
  flow: string
  key: Bytes
}

/** The holder of a lock, when a wait for the lock ended or a guarded write was refused. */
export interface LockHolder {
  id: string
  /** The context that the holder has set for others to read. */
  context: Bytes | undefined
  fencingToken: number
  remainingMillis: number
  /** In ms, the time since the holder acquired the lock. */
  sinceMillis: number
}

/**
 * An error of Latchkey. Programs should test the `code`. The message tells people what to do next.
 * docs/errors.md has the table of codes.
 */
export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError'
  readonly code: ErrorCode
  /** True if the same call may succeed later. */
  readonly retryable: boolean
  /**
   * With 'not-applied', the call changed nothing. With 'unknown', the cluster may have applied the call, so
   * read the state before you decide.
   */
  readonly outcome: Outcome
  /** For ERR_NOT_OWNER, this is the holder of the lock. */
  declare readonly owner?: Owner
  /**
   * ERR_WRONG_CLUSTER has this field if the given addresses lead to different clusters. Each property has the
   * id of a cluster as its name, and the addresses of this cluster as its value.
   */
  declare readonly clusters?: Readonly<Record<string, readonly string[]>>
  /**
   * For a call that found no leader, these are the ids of the members that the answering member cannot reach.
   */
  declare readonly missing?: readonly string[]
  /**
   * The key of the lock, if a wait ended without the lock, a hold has ended, or a guard was refused. For
   * ERR_NOT_A_NUMBER, this is the key of the increment. For ERR_UNDECODABLE, this is the key of the value, as
   * text. An error of a `sub`, which adds a prefix to all keys, has the key without the prefix.
   */
  declare readonly key?: Bytes
  /**
   * For ERR_UNDECODABLE, this is the revision of the write of the value, if it is known. If a scan does not
   * know this revision, the field has the revision of the scan's view instead. For a watch, the field has the
   * revision of the event that has this value as `value` or `previous`. To skip this event, watch from the
   * next revision.
   */
  declare readonly revision?: number
  /** In ms, how long a wait lasted that ended without the lock. */
  declare readonly waitedMillis?: number
  /** The fencing token of the hold that has ended, or of the refused guard. */
  declare readonly token?: number
  /**
   * The holder of the lock when the wait ended or when the cluster refused the guard. Undefined if nobody
   * held the lock.
   */
  declare readonly holder?: LockHolder
  /** For ERR_MISMATCH, this is the stored number, which differs from the given one. */
  declare readonly present?: number
  /**
   * For a call without an answer, this is the id of the last leader that the store knew. With ERR_NO_LEADER,
   * that member no longer leads or cannot be reached. Undefined if the store never knew a leader.
   */
  declare readonly leader?: string
  /**
   * For ERR_DEADLOCK, these are the flows that would wait for each other, each with the key of the lock that
   * the flow waits for. The first flow is the caller's. A flow without a name has the id of its hold in place
   * of the name.
   */
  declare readonly circle?: readonly WaitingFlow[]

  constructor(code: ErrorCode, message?: string, options: ErrorOptions = {}) {
    super(message ?? ERRORS[code].message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.retryable = options.retryable ?? ERRORS[code].retryable
    this.outcome = options.outcome ?? ERRORS[code].outcome
    if (options.owner !== undefined) this.owner = options.owner
    if (options.clusters !== undefined) this.clusters = options.clusters
    if (options.missing !== undefined) this.missing = options.missing
    if (options.key !== undefined) this.key = options.key
    if (options.revision !== undefined) this.revision = options.revision
    if (options.waitedMillis !== undefined) this.waitedMillis = options.waitedMillis
    if (options.token !== undefined) this.token = options.token
    if (options.holder !== undefined) this.holder = options.holder
    if (options.present !== undefined) this.present = options.present
    if (options.leader !== undefined) this.leader = options.leader
    if (options.circle !== undefined) this.circle = options.circle
  }
}

/**
 * Returns true for a LatchkeyError. With codes, returns true only for an error with one of these codes.
 * ```ts
 * if (isLatchkeyError(error, 'ERR_LOCK_LOST', 'ERR_FENCED')) return // another process continues the work
 * ```
 */
export const isLatchkeyError = (error: unknown, ...codes: readonly ErrorCode[]): error is LatchkeyError =>
  error instanceof LatchkeyError && (codes.length === 0 || codes.includes(error.code))
