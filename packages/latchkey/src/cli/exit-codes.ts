// Rule: the exit codes, and the exit code of each error.

import { constants } from 'node:os'
import { isLatchkeyError } from '@latchkey/protocol'
import { ConfigError } from '../sidecar/index.js'
import { UsageError } from './command.js'
import { Interrupted } from './command-io.js'

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** There is no leader, or no member could be reached. */
  unavailable: 69,
  /** Another client holds the lock, or the lock was lost. */
  busy: 75,
  config: 78,
  cannotRun: 126,
  notFound: 127,
} as const

export const signalExit = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

export function exitOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof TypeError) return EXIT.usage
  if (error instanceof ConfigError) return EXIT.config
  // The reader of the output has closed it, as in `latchkey scan | head`. That is no failure.
  if (error instanceof Interrupted) return error.signal === 'SIGPIPE' ? EXIT.ok : signalExit(error.signal)
  return isLatchkeyError(error, 'ERR_NO_LEADER') ? EXIT.unavailable : EXIT.failure
}

/** The message of the system, if it says more than that no process listens. */
function reason(cause: unknown): string {
  if (!(cause instanceof Error) || cause.message === '' || isLatchkeyError(cause, 'ERR_TIMEOUT')) return ''
  return ` (${cause.message})`
}

/** Returns the text unless it is already part of the message, because many messages contain their reason. */
const unsaid = (said: string, cause: unknown): string =>
  cause instanceof Error && said.includes(cause.message.replace(/\.$/, '')) ? '' : reason(cause)

/** Describes the error in one line for a person. The code comes first, if there is one. */
export function explain(error: unknown): string {
  if (isLatchkeyError(error)) return `${error.code}: ${error.message}${unsaid(error.message, error.cause)}`
  return error instanceof Error ? error.message : String(error)
}
