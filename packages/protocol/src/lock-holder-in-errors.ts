// Rule: describes the holder of a lock in an error: in the field `holder`, and in words in the message.

import { ERRORS, LatchkeyError, type LockHolder } from './errors.js'
import type { HolderResult } from './result-wire-types.js'
import { show, shownKey } from './value-in-errors.js'

/** A context of bytes is copied, because the answer is a view of the received frame. */
export function toHolder([
  id,
  context,
  fencingToken,
  remainingMillis,
  sinceMillis,
]: HolderResult): LockHolder {
  const given = context === null ? undefined : typeof context === 'string' ? context : new Uint8Array(context)
  return { id, context: given, fencingToken, remainingMillis, sinceMillis }
}

/** The text has the context if the context is a string. */
export function describeHolder(holder: LockHolder): string {
  const { id, context, fencingToken, remainingMillis, sinceMillis } = holder
  const what =
    typeof context === 'string' && context !== '' ? ` (${JSON.stringify(context.slice(0, 64))})` : ''
  return `${id}${what} has held it for ${sinceMillis} ms, with token ${fencingToken}, and has ${remainingMillis} ms of its lease left.`
}

/** null means that nobody holds the lock. */
export const saysHolder = (holder: LockHolder | null): string =>
  holder === null ? 'Nobody holds it now.' : describeHolder(holder)

/**
 * Returns the error for a write that was refused because of its guard. `answered` is the error from the
 * member. `answered` is undefined if the client knew that the hold was lost, and did not send the write.
 */
export function fenced(
  guard: { readonly key: Uint8Array; readonly token: number },
  answered?: LatchkeyError,
): LatchkeyError {
  const { token } = guard
  const key = shownKey(guard.key)
  const name = typeof key === 'string' ? show(key) : 'the one of the guard'
  const message = `${answered?.message ?? ERRORS.ERR_FENCED.message} The lock is ${name}, the token ${token}.`
  return new LatchkeyError('ERR_FENCED', message, { key, token, holder: answered?.holder })
}
