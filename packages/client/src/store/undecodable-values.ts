// Driver: a value that could not be decoded, and the revision that an answer without one does not tell.

import { equalBytes } from '@latchkey/base'
import { READ, type ReadArgs, undecodable, undecodableOf } from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'

/**
 * Of `get` and `multiGet` the answer is the value alone: the revision is asked for then. If the key has another value by now, it is not
 * known, and `seen` is said where there is one: the revision that was read. Rejects always.
 */
export async function withRevision(
  engine: Engine,
  error: unknown,
  options: ReadArgs,
  seen?: number,
): Promise<never> {
  const of = undecodableOf(error)
  if (of === undefined || of.revision !== undefined) throw error
  const revision = (await revisionOf(engine, of.key, of.bytes, options).catch(() => undefined)) ?? seen
  throw revision === undefined ? error : undecodable({ ...of, revision })
}

async function revisionOf(
  engine: Engine,
  key: Uint8Array,
  bytes: Uint8Array,
  { signal, timeout }: ReadArgs,
): Promise<number | undefined> {
  const answer = await engine.read([READ.getEntry, key], false, { signal, timeout }, (result) => result)
  if (!Array.isArray(answer) || !Array.isArray(answer[1])) return undefined
  const [, modRevision, , value] = answer[1] as [unknown, unknown, unknown, unknown]
  const isTheSame = value instanceof Uint8Array && equalBytes(value, bytes)
  return isTheSame && typeof modRevision === 'number' ? modRevision : undefined
}

/** The answer of a write that is done: an error about the value that it answers with must not say that nothing happened. */
export function afterWrite<T>(convert: () => T): T {
  try {
    return convert()
  } catch (error) {
    const of = undecodableOf(error)
    throw of === undefined ? error : undecodable({ ...of, outcome: 'unknown' })
  }
}
