// Door: encodes and decodes commands and answers. A client encodes each command, except openSession and
// endSession, which a member encodes. All members decode and apply the same bytes.

import { CAPS } from './fixed-limits.js'
import { checkAnswer, checkCommand, isKnownOperation, isOperation } from './command-and-answer-checks.js'
import { pack } from './msgpack-encoder.js'
import { Malformed, OF_ANSWERS, unpack, type UnpackOptions } from './msgpack-decoder.js'
import { ERROR_CODES, type ErrorCode, ERRORS, type ErrorOptions, LatchkeyError } from './errors.js'
import { saysHolder, toHolder } from './lock-holder-in-errors.js'
import type { Command } from './command-and-read-wire-types.js'
import { type Answer, type ErrorAnswer, SESSION_FULL, SESSION_OVER } from './result-wire-types.js'

/**
 * Why bytes are not a command. 'unknown': this build does not know the operation, but a newer build may. So a
 * member with such a command in its log must stop. 'invalid': every member answers ERR_PROTOCOL and changes
 * nothing.
 */
interface BadCommand {
  readonly bad: 'unknown' | 'invalid'
  readonly reason: string
}

export const encodeCommand = (command: Command): Uint8Array => pack(command)

/** The byte values of the command are views of `bytes`. */
export function decodeCommand(bytes: Uint8Array): Command | BadCommand {
  if (bytes.length > CAPS.commandBytes) return { bad: 'invalid', reason: 'a command is too long' }
  const value = tryUnpack(bytes)
  if (value instanceof Malformed) return { bad: 'invalid', reason: value.message }
  const reason = checkCommand(value)
  if (reason === null) return value as Command
  return { bad: isForeignOperation(value) ? 'unknown' : 'invalid', reason }
}

export const isBadCommand = (command: Command | BadCommand): command is BadCommand => 'bad' in command

const isForeignOperation = (value: unknown): boolean =>
  Array.isArray(value) && isOperation(value[0]) && !isKnownOperation(value)

function tryUnpack(bytes: Uint8Array, options?: UnpackOptions): unknown {
  try {
    return unpack(bytes, options)
  } catch (error) {
    if (error instanceof Malformed) return error
    throw error
  }
}

// ---- Answers

export const encodeAnswer = (answer: Answer): Uint8Array => pack(answer)

/** The byte values of the answer are views of `bytes`. */
export function decodeAnswer(bytes: Uint8Array): Answer {
  const value = tryUnpack(bytes, OF_ANSWERS)
  return value instanceof Malformed ? noAnswer(value.message) : toAnswer(value)
}

/** If the value is no answer, returns an answer with ERR_PROTOCOL and an unknown outcome. */
export function toAnswer(value: unknown): Answer {
  const reason = checkAnswer(value)
  return reason === null ? (value as Answer) : noAnswer(reason)
}

const noAnswer = (reason: string): Answer => [
  1 + PROTOCOL,
  `An answer made no sense: ${reason}.`,
  false,
  true,
]

const PROTOCOL = ERROR_CODES.indexOf('ERR_PROTOCOL')

export const okAnswer = (result: unknown): Answer => [0, result]

/** A missing message or option gets its default from the table of errors. */
export function errorAnswer(code: ErrorCode, message?: string, options: ErrorOptions = {}): Answer {
  const row = ERRORS[code]
  return [
    1 + ERROR_CODES.indexOf(code),
    message ?? row.message,
    options.retryable ?? row.retryable,
    (options.outcome ?? row.outcome) === 'unknown',
  ]
}

export const SESSION_OVER_ANSWER: Answer = [
  SESSION_OVER,
  'The session is unknown or has ended.',
  false,
  false,
]

export const SESSION_FULL_ANSWER: Answer = [
  SESSION_FULL,
  'The session keeps as many answers as it may. Wait for some of its calls, then try again.',
  true,
  false,
]

/** Returns undefined for a success. A number that this build does not know gives ERR_PROTOCOL. */
export function codeOf(answer: Answer): ErrorCode | undefined {
  if (answer[0] === 0) return undefined
  return answer[0] === SESSION_FULL ? 'ERR_BUSY' : (ERROR_CODES[answer[0] - 1] ?? 'ERR_PROTOCOL')
}

export const isError = (answer: Answer): answer is ErrorAnswer => answer[0] !== 0

/** `answer` must be an error. */
export function errorOf(answer: Answer): LatchkeyError {
  const [, text, retryable, unknown, place] = answer as ErrorAnswer
  const holder = place ? toHolder(place) : place
  const message = holder === undefined ? text : `${text} ${saysHolder(holder)}`
  return new LatchkeyError(codeOf(answer) ?? 'ERR_PROTOCOL', message, {
    retryable,
    outcome: unknown ? 'unknown' : 'not-applied',
    holder: holder ?? undefined,
  })
}
