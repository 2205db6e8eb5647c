// Rule: the error table. One row a code; everything a caller can meet is one of these or a TypeError.

import type { Bytes } from './encodings.js'
import type { Owner } from './public-types.js'

export type Outcome = 'not-applied' | 'unknown'

interface Row {
  readonly retryable: boolean
  readonly outcome: Outcome
  /** Said when the place that failed has nothing better to say: what it means, and what to do next. */
  readonly message: string
}

export const ERRORS = {
  ERR_NO_LEADER: {
    retryable: true,
    outcome: 'not-applied',
    message:
      'No leader was found before the deadline. Check that a majority of the members runs and can reach each other, then try again.',
  },
  ERR_BUSY: {
    retryable: true,
    outcome: 'not-applied',
    message: 'Too much is in flight. Wait a little and try again.',
  },
  ERR_TIMEOUT: {
    retryable: true,
    outcome: 'not-applied',
    message:
      'The deadline passed before the call was done; it changed nothing. Try again, or allow more time.',
  },
  ERR_OUTCOME_UNKNOWN: {
    retryable: false,
    outcome: 'unknown',
    message:
      'The call was sent, but its answer did not come in time: it may or may not have been applied. Read the state before you decide.',
  },
  ERR_ABORTED: {
    retryable: false,
    outcome: 'not-applied',
    message: 'The call was aborted by its signal; the cause says why. Call again if it is still wanted.',
  },
  ERR_CLOSED: {
    retryable: false,
    outcome: 'not-applied',
    message: 'The store is closed. Open or connect a new one.',
  },
  ERR_TOO_LARGE: {
    retryable: false,
    outcome: 'not-applied',
    message: 'Too large: keys are up to 4 KiB, values up to 1 MiB, a command up to 4 MiB. Split it.',
  },
  ERR_COMPACTED: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The history no longer reaches back to that revision. Read the current state and watch from its revision on.',
  },
  ERR_NOT_OWNER: {
    retryable: false,
    outcome: 'not-applied',
    message: 'This lock is not held by the caller. Acquire it first; unlock only what you acquired.',
  },
  ERR_LOCK_LOST: {
    retryable: false,
    outcome: 'not-applied',
    message: 'The lock was lost: its lease is over. Stop the work it guarded and acquire it again.',
  },
  ERR_FENCED: {
    retryable: false,
    outcome: 'not-applied',
    message: 'The write was refused: its lock is no longer held with that token. Stop the work it guarded.',
  },
  ERR_UNAUTHORIZED: {
    retryable: false,
    outcome: 'not-applied',
    message: 'No valid credentials. Pass the token that this cluster was started with.',
  },
  ERR_FORBIDDEN: {
    retryable: false,
    outcome: 'not-applied',
    message: 'These credentials do not allow that. Use a token with the needed right (read, write or admin).',
  },
  ERR_WRONG_CLUSTER: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'That member or directory belongs to another cluster, member or incarnation. Check addresses, dir, id and the name of the cluster.',
  },
  ERR_DIR_LOCKED: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'Another process holds this directory. Give each process a directory of its own, or run one sidecar and connect to it.',
  },
  ERR_CORRUPT: {
    retryable: false,
    outcome: 'not-applied',
    message: 'Stored data is damaged. Rebuild this member from its peers, or restore a backup.',
  },
  ERR_STORAGE_FAILED: {
    retryable: false,
    outcome: 'unknown',
    message: 'The disk failed; this member has stopped. Repair the disk, then start it again.',
  },
  ERR_PROTOCOL: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The other side said something that this version does not understand. Check that both run compatible versions.',
  },
  ERR_CONFIG_CHANGE_IN_PROGRESS: {
    retryable: true,
    outcome: 'not-applied',
    message: 'Another change of members is under way. Wait for it to finish, then try again.',
  },
  ERR_DEADLOCK: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'This flow already holds that lock and would wait for itself for ever. Use the hold you have, or pass a wait.',
  },
  ERR_NOT_A_NUMBER: {
    retryable: false,
    outcome: 'not-applied',
    message:
      'The stored value is not a whole number as decimal text within the safe integers. Nothing was changed. Put a number there first, or name another key.',
  },
  ERR_MISMATCH: {
    retryable: false,
    outcome: 'not-applied',
    message: 'What was named does not fit what is there. The message says what is there; name that.',
  },
  ERR_UNDECODABLE: {
    retryable: false,
    outcome: 'not-applied',
    message:
      "The stored value is not what `as` says. Read it with { as: 'bytes' }, or have such values handed over with { onUndecodable: 'bytes' }.",
  },
} as const satisfies Record<string, Row>

export type ErrorCode = keyof typeof ERRORS

/** Codes by number, for the wire. Append only. */
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[]

export interface ErrorOptions {
  readonly cause?: unknown
  readonly outcome?: Outcome | undefined
  readonly retryable?: boolean
  /** Of ERR_NOT_OWNER: who holds it. */
  readonly owner?: Owner
  /** Of ERR_WRONG_CLUSTER: the addresses of each cluster that was met, by its id. */
  readonly clusters?: Readonly<Record<string, readonly string[]>> | undefined
  /** Where nobody leads: the members that are not reached. */
  readonly missing?: readonly string[] | undefined
  /** Of a wait for a lock: the lock's key, as it was given. Of ERR_UNDECODABLE: the value's key. */
  readonly key?: Bytes | undefined
  /** Of ERR_UNDECODABLE: of the write of the value. */
  readonly revision?: number | undefined
  /** Of a wait for a lock: how long it was. */
  readonly waitedMillis?: number | undefined
  /** Of a hold that is lost: its fencing token. */
  readonly token?: number | undefined
  /** Of a wait for a lock: who holds it. */
  readonly holder?: LockHolder | undefined
}

/** Who holds a lock, as it was when a wait for it ended. */
export interface LockHolder {
  id: string
  /** What it gave as its own, for others to see. */
  context: Bytes | undefined
  fencingToken: number
  remainingMillis: number
  /** For how long it has held it. */
  sinceMillis: number
}

/** Whatever a caller can meet. Go by `code`; the message says what to do next. The table: docs/errors.md. */
export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError'
  readonly code: ErrorCode
  /** The same call may succeed later, as it is. */
  readonly retryable: boolean
  /** 'not-applied': it changed nothing. 'unknown': it may have been applied; read the state before you decide. */
  readonly outcome: Outcome
  /** Of ERR_NOT_OWNER: who holds the lock. */
  declare readonly owner?: Owner
  /** Of ERR_WRONG_CLUSTER, where two clusters were met: the addresses of each, by its id. */
  declare readonly clusters?: Readonly<Record<string, readonly string[]>>
  /** Where a call ended because nobody leads: the ids of the members that the asked one does not reach. */
  declare readonly missing?: readonly string[]
  /**
   * Of a wait for a lock that ended without it, and of a hold that is lost: the lock's key. Of ERR_UNDECODABLE: the key of the value, as
   * text.
   */
  declare readonly key?: Bytes
  /**
   * Of ERR_UNDECODABLE: of the write of the value, where that is known; of a scan at least the revision that was read; of a watch the
   * event's, whose `value` or `previous` it was: `watch` from the one after it goes on behind it.
   */
  declare readonly revision?: number
  /** Of a wait for a lock that ended without it: how long it was. */
  declare readonly waitedMillis?: number
  /** Of a hold that is lost: its fencing token. */
  declare readonly token?: number
  /** Of a wait for a lock that ended without it: who holds it. */
  declare readonly holder?: LockHolder

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
  }
}

/**
 * Whether an error is one of Latchkey's, and of one of these codes where any are given.
 * ```ts
 * if (isLatchkeyError(error, 'ERR_LOCK_LOST', 'ERR_FENCED')) return // another process goes on with it
 * ```
 */
export const isLatchkeyError = (error: unknown, ...codes: readonly ErrorCode[]): error is LatchkeyError =>
  error instanceof LatchkeyError && (codes.length === 0 || codes.includes(error.code))
