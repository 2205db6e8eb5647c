// Rule: who holds a lock, in an error: as its field `holder` and in the words of its message.

import { ERRORS, LatchkeyError, type LockHolder } from './errors.js'
import type { HolderResult } from './results.js'
import { show, shownKey } from './show-value.js'

/** A context of bytes is a copy: the answer is a view of the received frame. */
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

/** A context that is a string is part of the message; one of bytes is not. */
export function describeHolder(holder: LockHolder): string {
  const { id, context, fencingToken, remainingMillis, sinceMillis } = holder
  const what =
    typeof context === 'string' && context !== '' ? ` (${JSON.stringify(context.slice(0, 64))})` : ''
  return `${id}${what} has held it for ${sinceMillis} ms, with token ${fencingToken}, and has ${remainingMillis} ms of its lease left.`
}

/**
 * What the answer to a write whose guard did not hold says of the lock's holder at that entry; null: nobody
 * held it.
 */
export const saysHolder = (holder: LockHolder | null): string =>
  holder === null ? 'Nobody holds it now.' : describeHolder(holder)

/**
 * The error of a write whose guard did not hold. `answered` is what the member has answered; undefined: the
 * write was not sent, because its hold is known to be over.
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
