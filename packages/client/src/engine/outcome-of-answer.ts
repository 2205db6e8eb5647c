// Rule: what an answer means for a call, and which error a caller gets when the time of its call is over. The
// law that each command is executed exactly once depends on these two rules.

import {
  type Answer,
  ERRORS,
  type ErrorCode,
  type ErrorOptions,
  LatchkeyError,
  type LeaderReply,
  leaderlessMessage,
  SESSION_FULL,
  SESSION_OVER,
  codeOf,
  errorOf,
} from '@latchkey/protocol'

/**
 * final: the caller gets this answer. again: the call was certainly not executed, so it may be sent to any
 * member. uncertain: the call may be in the log, and another attempt with the same call number will show the
 * outcome. over: the call was refused because its session is over.
 */
type Verdict = 'final' | 'again' | 'uncertain' | 'over'

/** Errors that are temporary: another member, or the same member a little later, may give another answer. */
const PASSING: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  'ERR_NO_LEADER',
  'ERR_BUSY',
  'ERR_TIMEOUT',
  'ERR_CLOSED',
  'ERR_OUTCOME_UNKNOWN',
  'ERR_STORAGE_FAILED',
])
/** The errors of a member that does not know the outcome of a command. */
const LOST_TRACK: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  'ERR_NO_LEADER',
  'ERR_TIMEOUT',
  'ERR_CLOSED',
  'ERR_OUTCOME_UNKNOWN',
])

/**
 * Judges the answer to an attempt of a command. `never` is true if no member has executed this attempt.
 * `uncertain` is true if an earlier attempt may have been executed.
 */
export function judgeCommand(answer: Answer, never: boolean, uncertain: boolean): Verdict {
  if (answer[0] === 0) return 'final'
  if (answer[0] === SESSION_OVER) return 'over'
  if (answer[0] === SESSION_FULL) return 'again'
  const code = codeOf(answer)
  if (never) return PASSING.has(code) ? 'again' : uncertain ? 'uncertain' : 'final'
  return answer[3] === true || LOST_TRACK.has(code) ? 'uncertain' : 'final'
}

/** A read changes nothing, so the store sends a read again until a member answers it. */
export function judgeRead(answer: Answer, never: boolean): Verdict {
  if (answer[0] === 0) return 'final'
  const code = codeOf(answer)
  return LOST_TRACK.has(code) || (never && PASSING.has(code)) || code === 'ERR_STORAGE_FAILED'
    ? 'again'
    : 'final'
}

/**
 * Calls about the cluster have no number that would prevent a second execution. So a call that changes the
 * cluster is sent again only if no member has executed it.
 */
export function judgeAdmin(answer: Answer, never: boolean, changes: boolean): Verdict {
  if (answer[0] === 0) return 'final'
  const code = codeOf(answer)
  if (code === 'ERR_BUSY') return 'final'
  const notDone = never || !changes || (code === 'ERR_NO_LEADER' && answer[3] === false)
  return notDone && PASSING.has(code) ? 'again' : 'final'
}

export interface CallState {
  readonly what: 'command' | 'read' | 'admin'
  /** True for a command, and for an admin call that changes the cluster. */
  readonly changes: boolean
  readonly mayHaveReachedMember: boolean
  readonly leaderKnown: boolean
  /**
   * True if the call waited for a free call number of the session, or if the call was last refused with
   * ERR_BUSY.
   */
  readonly crowded: boolean
}

/**
 * What a member reports while it knows no leader: its own id, the members that it cannot reach, and whether
 * the cluster starts for the first time.
 */
export type Leaderless = Pick<LeaderReply, 'self' | 'missing' | 'isFirstStart'>

/**
 * Returns the error of a call whose time is over. If no member is connected, `unreached` is the reason.
 */
export function overdue(
  callState: CallState,
  cause: unknown,
  leaderless?: Leaderless,
  unreached?: string,
): LatchkeyError {
  const code = overdueCode(callState)
  const options = cause === undefined ? {} : { cause }
  if (unreached !== undefined)
    return new LatchkeyError(code, `${ERRORS[code].message} No member is connected: ${unreached}`, options)
  const missing = leaderless?.missing ?? []
  if (leaderless === undefined || missing.length === 0) return new LatchkeyError(code, undefined, options)
  const message = `${ERRORS[code].message} ${leaderlessMessage(leaderless)}`
  return new LatchkeyError(code, message, { ...options, missing })
}

/**
 * The error of a wait that has ended while no leader is known. `lastLeader` is the id of the last known
 * leader.
 */
export function withoutLeader(leaderless: Leaderless | undefined, lastLeader?: string): LatchkeyError {
  const callState = {
    what: 'command',
    changes: true,
    mayHaveReachedMember: false,
    leaderKnown: false,
    crowded: false,
  } as const
  return addLastLeader(overdue(callState, undefined, leaderless), lastLeader)
}

/** Adds the last known leader to an error whose code has the field `leader`. */
export function addLastLeader(error: LatchkeyError, lastLeader: string | undefined): LatchkeyError {
  const fields: readonly string[] = ERRORS[error.code].fields
  if (lastLeader !== undefined && fields.includes('leader'))
    (error as { leader?: string }).leader ??= lastLeader
  return error
}

function overdueCode({ what, changes, mayHaveReachedMember, leaderKnown, crowded }: CallState): ErrorCode {
  if (what === 'read') return 'ERR_TIMEOUT'
  if (changes && mayHaveReachedMember) return 'ERR_OUTCOME_UNKNOWN'
  if (crowded) return 'ERR_BUSY'
  return leaderKnown ? 'ERR_TIMEOUT' : 'ERR_NO_LEADER'
}

const UNKNOWN: ErrorOptions = { outcome: 'unknown' }
const endedEarly = (code: ErrorCode, callState: CallState, cause: unknown): LatchkeyError => {
  const unknown = callState.changes && callState.mayHaveReachedMember
  return new LatchkeyError(code, unknown ? `${WORDS[code]} ${MAYBE}` : undefined, {
    ...(unknown ? UNKNOWN : {}),
    ...(cause === undefined ? {} : { cause }),
  })
}
const MAYBE = 'It had been sent: it may or may not have been applied. Read the state before you decide.'
const WORDS: Partial<Record<ErrorCode, string>> = {
  ERR_ABORTED: 'The call was aborted by its signal.',
  ERR_CLOSED: 'The store was closed before the answer came.',
}

export const aborted = (callState: CallState, reason: unknown) => endedEarly('ERR_ABORTED', callState, reason)
export const closed = (callState: CallState) => endedEarly('ERR_CLOSED', callState, undefined)

/**
 * Returns the error of a call that ends because no member can be reached. `error` says why no member can be
 * reached.
 */
export const unreachableForGood = (callState: CallState, error: LatchkeyError): LatchkeyError =>
  callState.changes && callState.mayHaveReachedMember
    ? new LatchkeyError('ERR_OUTCOME_UNKNOWN', undefined, { cause: error })
    : new LatchkeyError(error.code, error.message, {
        cause: error,
        outcome: 'not-applied',
        retryable: error.retryable,
        clusters: error.clusters,
      })

export const sessionOver = (): LatchkeyError =>
  new LatchkeyError(
    'ERR_OUTCOME_UNKNOWN',
    'The session ended before the answer came: the call may or may not have been applied. Read the state before you decide.',
  )

export const lostSight = (cause: unknown): LatchkeyError =>
  new LatchkeyError('ERR_OUTCOME_UNKNOWN', undefined, { cause })

export const viewLost = (): LatchkeyError =>
  new LatchkeyError(
    'ERR_COMPACTED',
    'The frozen view of this iteration is gone: its member stopped or was cut off, or the view stood unused for too long. Start the iteration again.',
    { retryable: true },
  )

export { errorOf }
