// Driver: makes the errors about values that cannot be decoded, with the revision of the value.

import { equalBytes } from '@latchkey/base'
import { READ, type ReadArgs, undecodable, undecodableOf } from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'

/**
 * Adds the revision of the value to the error of a value that cannot be decoded. The answers of `get` and
 * `multiGet` have no revision, so the revision is read after the failure. If the key has another value at
 * that time, the error names `seen`, which is the revision of the caller's read. If `seen` is undefined, the
 * error names no revision. The promise always rejects.
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

/**
 * Converts the answer to a write that was applied. If the previous value cannot be decoded, the error must
 * not say that nothing was changed.
 */
export function afterWrite<T>(convert: () => T): T {
  try {
    return convert()
  } catch (error) {
    const of = undecodableOf(error)
    throw of === undefined ? error : undecodable({ ...of, outcome: 'unknown' })
  }
}
