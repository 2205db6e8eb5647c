// Rule: decides from an error of ioredis or of Redis whether the server has applied the script.

import { mayHaveArrived, notReached, refusedByServer } from '@latchkey/lock'
import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

/** The error code with which `take` answers if the queue is full. */
export const FULL_QUEUE = 'LKFULL'

/** With these error codes the script has changed nothing, and the same script may succeed later. */
const AWAY = new Set([
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'NOREPLICAS',
  'MISCONF',
  'OOM',
  'BUSY',
  'TRYAGAIN',
  'CLUSTERDOWN',
])
/** Errors with which ioredis has sent nothing. */
const UNSENT = /Stream isn't writeable|Connection in subscriber mode/
const WORD = /^(?:ERR |@?\w+: )?([A-Z]{2,})\b/

export function toLockError(error: unknown): LatchkeyError {
  if (isLatchkeyError(error)) return error
  const { name = '', message = '' } = (error ?? {}) as { name?: string; message?: string }
  if (UNSENT.test(message)) return notReached(error)
  if (name !== 'ReplyError') return mayHaveArrived(error)
  const word = WORD.exec(message)?.[1] ?? ''
  if (word === FULL_QUEUE) return new LatchkeyError('ERR_BUSY', undefined, { cause: error })
  if (AWAY.has(word)) return notReached(error)
  return refusedByServer(REFUSED, error)
}

const REFUSED =
  'Redis has refused a script of the locks. Check the rights of the user, and that nothing else writes below the prefix.'
