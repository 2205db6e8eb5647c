// Rule: the exit codes of the commands, and the exit code for each kind of error.

import { constants } from 'node:os'
import { isLatchkeyError } from '@latchkey/protocol'
import { ConfigError } from '../sidecar/index.js'
import { UsageError } from './command-description-and-parser.js'
import { Interrupted } from './command-io-interface.js'

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** The cluster has no leader, or no member answers. */
  unavailable: 69,
  busy: 75,
  config: 78,
  cannotRun: 126,
  notFound: 127,
} as const

export const signalExit = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

export function exitOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof TypeError) return EXIT.usage
  if (error instanceof ConfigError) return EXIT.config
  // SIGPIPE: the program that reads the output has ended, as in `latchkey scan | head`. The command then
  // counts as successful.
  if (error instanceof Interrupted) return error.signal === 'SIGPIPE' ? EXIT.ok : signalExit(error.signal)
  return isLatchkeyError(error, 'ERR_NO_LEADER') ? EXIT.unavailable : EXIT.failure
}

/** Returns '' for a timeout, because the message of a timeout adds nothing. */
function reason(cause: unknown): string {
  if (!(cause instanceof Error) || cause.message === '' || isLatchkeyError(cause, 'ERR_TIMEOUT')) return ''
  return ` (${cause.message})`
}

/** Returns '' if the error's own message already contains the text of the cause. */
const causeText = (said: string, cause: unknown): string =>
  cause instanceof Error && said.includes(cause.message.replace(/\.$/, '')) ? '' : reason(cause)

export function explain(error: unknown): string {
  if (isLatchkeyError(error)) return `${error.code}: ${error.message}${causeText(error.message, error.cause)}`
  return error instanceof Error ? error.message : String(error)
}
