// Rule: encodes the answers to commands. Sessions keep the answers as part of the replicated state. So a
// refusal must have the same text on every member and in every version.

import {
  type Answer,
  CAPS,
  ERRORS,
  ERROR_CODES,
  type ErrorCode,
  type HolderResult,
  SESSION_FULL_ANSWER,
  SESSION_OVER,
  pack,
  packedLength,
} from '@latchkey/protocol'

export class Refused {
  readonly bytes: Uint8Array

  /**
   * `holder` is the present holder of the lock that the guard of the command names, or null if nobody holds
   * this lock. Only a refusal with ERR_FENCED has this argument.
   */
  constructor(code: ErrorCode, message: string = ERRORS[code].message, holder?: HolderResult | null) {
    const { retryable, outcome } = ERRORS[code]
    const places = [1 + ERROR_CODES.indexOf(code), message, retryable, outcome === 'unknown']
    this.bytes = pack(holder === undefined ? places : [...places, holder])
  }
}

const SIMPLE = new Map<unknown, Uint8Array>([true, false, 0, 1].map((result) => [result, pack([0, result])]))

/** `outcome` is a result (protocol's result-wire-types.ts) or a Refused. */
export function answerBytes(outcome: unknown): Uint8Array {
  if (outcome instanceof Refused) return outcome.bytes
  return SIMPLE.get(outcome) ?? pack([0, outcome])
}

export interface GivenAnswer {
  readonly bytes: Uint8Array
  /** True if the answer is the kept answer of an earlier execution of the same call. */
  readonly fromTable: boolean
}

/**
 * An answer whose bytes are not encoded yet: a whole number, which is most often a revision, or the result of
 * a lock command. Only the member that answers the client needs the bytes. The other members need only their
 * length, and most of them drop the answer soon.
 */
export class UnencodedAnswer implements GivenAnswer {
  readonly fromTable = false
  /** This object is the only user of `result`, so `result` never changes. */
  readonly result: number | readonly unknown[]

  constructor(result: number | readonly unknown[]) {
    this.result = result
  }

  get bytes(): Uint8Array {
    return pack([0, this.result])
  }
}

export const answerOf = (outcome: unknown): GivenAnswer =>
  outcome instanceof UnencodedAnswer
    ? outcome
    : typeof outcome === 'number' && outcome > 1 && Number.isSafeInteger(outcome)
      ? new UnencodedAnswer(outcome)
      : { bytes: answerBytes(outcome), fromTable: false }

/**
 * Returns the answer in the form that goes into a message to the client. The encoder of the message encodes
 * an answer that has no bytes yet.
 */
export const sentForm = (answer: GivenAnswer): Answer | Uint8Array =>
  answer instanceof UnencodedAnswer ? [0, answer.result] : answer.bytes

/** In bytes, of the encoded answer. */
export const answerSize = (answer: GivenAnswer): number =>
  answer instanceof UnencodedAnswer ? 2 + packedLength(answer.result) : answer.bytes.length

export const MALFORMED = new Refused('ERR_PROTOCOL', 'That is not a well-formed command.')
export const NO_SESSION = new Refused('ERR_PROTOCOL', 'This command needs a session.')
export const NOT_ALONE = new Refused('ERR_PROTOCOL', 'A session is opened by an entry of its own.')
export const FINISHED = new Refused(
  'ERR_PROTOCOL',
  'The call of that number is finished; it is not executed again.',
)
export const OTHER_BODY = new Refused('ERR_PROTOCOL', 'That number was used for another command.')
export const TOO_MANY_SESSIONS = new Refused(
  'ERR_BUSY',
  "The store has as many sessions as it can keep, and each of them holds or waits for a lock, or was used recently. Close some stores, or end sessions with 'latchkey sessions --end ID'.",
)
export const TOO_MANY_OF_ONE = new Refused(
  'ERR_BUSY',
  "These credentials have opened as many sessions as one identity may, and each of them holds or waits for a lock, or was used recently. Close some stores, end sessions with 'latchkey sessions --end ID', or use another token.",
)
/** Returns the refusal of a write whose guard names a hold that is not in force. */
export const fencedBy = (holder: HolderResult | null): Refused => new Refused('ERR_FENCED', undefined, holder)
export const CANCELLED = new Refused('ERR_ABORTED', 'The call was cancelled before it was executed.')
export const MERGED_TOO_LARGE = new Refused(
  'ERR_TOO_LARGE',
  'The merged value would be over 1 MiB. Nothing was changed.',
)
export const SUM_TOO_LARGE = new Refused(
  'ERR_TOO_LARGE',
  'The sum would be no safe integer. Nothing was changed.',
)
export const NOT_A_NUMBER = new Refused('ERR_NOT_A_NUMBER')
export const RESULTS_TOO_LARGE = new Refused(
  'ERR_TOO_LARGE',
  'What the transaction gets would be over 4 MiB. Nothing was changed; get fewer keys at once.',
)
export const USED_FOR_OTHER = new Refused(
  'ERR_MISMATCH',
  'Under this idempotency key another request was made. Nothing was changed. Draw a new key for each request.',
)
export const KEPT_TOO_LARGE = new Refused(
  'ERR_TOO_LARGE',
  'The answer would be over 1 MiB, which is the most that is kept for an idempotency key. Nothing was changed. Get fewer keys at once.',
)
export const LATCHES_FULL = new Refused(
  'ERR_BUSY',
  `The store has ${CAPS.latches} latches, which is the most. Remove latches that are not needed any more.`,
)
export const BARRIERS_FULL = new Refused(
  'ERR_BUSY',
  `Somebody waits at each of the ${CAPS.barriers} barriers of the store, which is the most. Try again when fewer are used.`,
)
export const PARTIES_FULL = new Refused(
  'ERR_BUSY',
  `As many wait as may: ${CAPS.partiesOfOne} at one latch or barrier, ${CAPS.parties} at all of the store. Try again when fewer wait.`,
)
export const SEQUENCE_USED_UP = new Refused(
  'ERR_TOO_LARGE',
  'The sequence is used up: its numbers would pass 2^53. Reset it.',
)
/** This answer makes the client library open another session. The application does not see the answer. */
export const SESSION_IS_OVER: Uint8Array = pack([
  SESSION_OVER,
  'The session is unknown or ended; the command was not executed.',
  true,
  false,
])

/**
 * This answer makes the client library wait and send the call again, because the session has reached its
 * limit of kept answers. No application sees the answer, and no session keeps it.
 */
export const SESSION_IS_FULL: Uint8Array = pack(SESSION_FULL_ANSWER)

const BY_CODE = new Map<ErrorCode, Refused>()
export function refusedWith(code: ErrorCode): Refused {
  const known = BY_CODE.get(code) ?? new Refused(code)
  BY_CODE.set(code, known)
  return known
}
