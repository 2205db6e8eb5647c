// Rule: makes the error for a stored value that the encoding of the call cannot decode.
//
// Law (VA3): the error names the key and, if it is known, the revision. Without this law, one wrong value
// among a million would end each scan, and an operator could not find its key.

import { text } from '@latchkey/base'
import type { Decoding } from './key-and-value-encodings.js'
import { LatchkeyError, type Outcome } from './errors.js'
import { show } from './value-in-errors.js'

interface Undecodable {
  /** The stored key, with the prefix of `store.sub(prefix)`. */
  readonly key: Uint8Array
  readonly bytes: Uint8Array
  readonly how: Decoding
  readonly revision: number | undefined
  readonly cause: unknown
  readonly outcome?: Outcome
}

/**
 * The arguments from which `undecodable` made each error. A caller that learns the revision later makes a new
 * error from these arguments and the revision.
 */
const MADE_OF = new WeakMap<Error, Undecodable>()

export const undecodableOf = (error: unknown): Undecodable | undefined =>
  error instanceof Error ? MADE_OF.get(error) : undefined

export function undecodable(of: Undecodable): LatchkeyError {
  const { how, revision, cause, outcome } = of
  const key = text(of.key.subarray(how.prefix.length))
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
