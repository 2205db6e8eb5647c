// Rule: exit codes, and which of them an error is.

import { constants } from 'node:os'
import { isLatchkeyError } from '@latchkey/protocol'
import { ConfigError } from '../sidecar/index.js'
import { UsageError } from './command.js'
import { Interrupted } from './io.js'

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** No leader, or nobody reachable. */
  unavailable: 69,
  /** The lock is another's, or was lost. */
  busy: 75,
  config: 78,
  cannotRun: 126,
  notFound: 127,
} as const

export const signalExit = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

export function exitOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof TypeError) return EXIT.usage
  if (error instanceof ConfigError) return EXIT.config
  // Whoever read what was printed has enough: `latchkey scan | head` is no failure.
  if (error instanceof Interrupted) return error.signal === 'SIGPIPE' ? EXIT.ok : signalExit(error.signal)
  return isLatchkeyError(error, 'ERR_NO_LEADER') ? EXIT.unavailable : EXIT.failure
}

/** What the system said, where it is more than that nobody listens. */
function reason(cause: unknown): string {
  if (!(cause instanceof Error) || cause.message === '' || isLatchkeyError(cause, 'ERR_TIMEOUT')) return ''
  return ` (${cause.message})`
}

/** Nothing is said twice: many a message has the reason in it. */
const unsaid = (said: string, cause: unknown): string =>
  cause instanceof Error && said.includes(cause.message.replace(/\.$/, '')) ? '' : reason(cause)

/** One line for a person; the code first, where there is one. */
export function explain(error: unknown): string {
  if (isLatchkeyError(error)) return `${error.code}: ${error.message}${unsaid(error.message, error.cause)}`
  return error instanceof Error ? error.message : String(error)
}
