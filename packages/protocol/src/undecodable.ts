// Rule: the error for a stored value that is not what the call's `as` says.
//
// Law (VA3): it names the key and, where it can be known, the revision. Without it the story is: one bad value among a million
// ends each scan, and nobody can find out which one it is.

import { text } from '@latchkey/base'
import type { Decoding } from './encodings.js'
import { LatchkeyError, type Outcome } from './errors.js'
import { show } from './show-value.js'

export interface Undecodable {
  readonly key: Uint8Array
  readonly bytes: Uint8Array
  readonly how: Decoding
  readonly revision: number | undefined
  readonly cause: unknown
  readonly outcome?: Outcome
}

/** What an error of this file was made of: so that whoever learns the revision later can make it anew. */
const MADE_OF = new WeakMap<Error, Undecodable>()

export const undecodableOf = (error: unknown): Undecodable | undefined =>
  error instanceof Error ? MADE_OF.get(error) : undefined

export function undecodable(of: Undecodable): LatchkeyError {
  const { how, revision, cause, outcome } = of
  const key = text(of.key)
  const where = revision === undefined ? '' : ` of revision ${revision}`
  const why = cause instanceof Error ? ` (${cause.message.slice(0, 200)})` : ''
  const done = outcome === 'unknown' ? ' The write itself was done.' : ''
  const message =
    `The value of ${show(key)}${where} cannot be decoded as ${how.as}${why}.${done} ` +
    "Read it with { as: 'bytes' }, or have such values handed over with { onUndecodable: 'bytes' }."
  const error = new LatchkeyError('ERR_UNDECODABLE', message, { key, revision, cause, outcome })
  MADE_OF.set(error, of)
  return error
}
