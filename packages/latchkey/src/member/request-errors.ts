// Rule: the errors for requests that a member refuses, and the replies with these errors.

import { CAPS, errorAnswer, LatchkeyError, type LinkReply } from '@latchkey/protocol'

export const tooWide = (): LatchkeyError =>
  new LatchkeyError(
    'ERR_PROTOCOL',
    `The command was refused: a session, a number or done is above ${CAPS.recordNumber}, the largest number in a record of the log.`,
  )

export const tooMany = (): LatchkeyError =>
  new LatchkeyError(
    'ERR_TOO_LARGE',
    'The result is too large for one answer. Ask for fewer keys at once, or for a longer prefix.',
  )

export const viewGone = (): LatchkeyError =>
  new LatchkeyError('ERR_COMPACTED', 'The frozen view of this iteration is gone. Start the iteration again.')

export function refusalError(reason: string): LatchkeyError {
  if (reason === 'busy') return new LatchkeyError('ERR_BUSY')
  if (reason === 'too-large') return new LatchkeyError('ERR_TOO_LARGE')
  return new LatchkeyError('ERR_NO_LEADER')
}

/** For a request that was not executed and never will be. */
export const refusedReply = (id: number, error: LatchkeyError): LinkReply => reply(id, true, error)

/** For a request that failed during its execution. */
export const failedReply = (id: number, error: unknown): LinkReply =>
  reply(
    id,
    false,
    error instanceof LatchkeyError
      ? error
      : new LatchkeyError('ERR_STORAGE_FAILED', String(error), { cause: error }),
  )

const reply = (id: number, never: boolean, error: LatchkeyError): LinkReply => {
  const answer = errorAnswer(error.code, error.message, error)
  return { kind: 'answer', id, time: 0, never, answer }
}
