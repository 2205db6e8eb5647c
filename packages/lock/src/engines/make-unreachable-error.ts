// Rule: the errors of a lock engine that cannot be reached, with the same codes as in a Latchkey store.

import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

const REACH =
  'The server of the locks was not reached. Check that it runs and that the address is right; then try again.'
const LOST =
  'The connection to the server of the locks was lost before it answered: the call may or may not have been applied.'

const reason = (cause: unknown): string =>
  cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : ''

/** The error of a request that was certainly not applied. */
export const notReached = (cause?: unknown): LatchkeyError =>
  new LatchkeyError('ERR_NO_LEADER', REACH + reason(cause), { cause })

/** The error of a request that was sent and may have been applied. */
export const mayHaveArrived = (cause?: unknown): LatchkeyError =>
  new LatchkeyError('ERR_OUTCOME_UNKNOWN', LOST + reason(cause), { cause })

/** The error of a request that the server has refused, and would refuse again. */
export const refusedByServer = (message: string, cause?: unknown): LatchkeyError =>
  new LatchkeyError('ERR_FORBIDDEN', `${message}${reason(cause)}`, { cause })

export const toEngineError = (error: unknown): LatchkeyError =>
  isLatchkeyError(error) ? error : mayHaveArrived(error)
