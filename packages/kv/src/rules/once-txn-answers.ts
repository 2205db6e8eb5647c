// Rule: keeps the answer of a txn with `once`, which is applied only once. The txn names a key, whose value
// is the kept answer.
//
// Law: the answer is written in the same entry and revision as the writes. If a caller repeats the txn with
// the same key, it gets the kept answer, and nothing is written (C73). This is also true if the caller
// repeats the txn in another session or at another member. Without this law, a script could send an
// increment, and its member could crash before the answer. The script would send the increment to another
// member, and the counter would grow by two.
//
// Law: the kept answer is looked up before the guard is checked. Without this law, a guarded write could be
// applied, its answer be lost, and the lock be released. The answer to the repeated call would then say that
// nothing was changed.
//
// Law: the kept answer contains a digest of its request. Without this law, two scripts could use the same key
// for different writes. Each script would get a success, but only one of the writes would have happened.

import { equalBytes } from '@latchkey/base'
import { type OnceArg, pack, type StepResult, unpack } from '@latchkey/protocol'
import { type Refused, USED_FOR_OTHER } from '../commands/answer-encoding.js'
import { modifiedOf, valueOf } from '../state/key-value-row-format.js'

export const keptRecord = (
  [, digest]: OnceArg,
  succeeded: boolean,
  results: readonly StepResult[],
): Uint8Array => pack([digest, succeeded, results])

/**
 * Returns the kept answer, which is the value of `row`. The revision of the row is the revision of the
 * writes. Returns USED_FOR_OTHER if the row belongs to another request.
 */
export function keptAnswer([, digest]: OnceArg, row: Uint8Array): Refused | readonly unknown[] {
  const kept = recordIn(valueOf(row))
  if (kept === undefined || !equalBytes(kept[0], digest)) return USED_FOR_OTHER
  return [kept[1], modifiedOf(row), kept[2]]
}

/** Decodes a kept answer. Returns undefined if the value is not a kept answer. */
function recordIn(value: Uint8Array): readonly [Uint8Array, boolean, readonly unknown[]] | undefined {
  try {
    const record = unpack(value)
    if (!Array.isArray(record) || record.length !== 3) return undefined
    const [digest, succeeded, results] = record as unknown[]
    if (!(digest instanceof Uint8Array) || typeof succeeded !== 'boolean' || !Array.isArray(results))
      return undefined
    return [digest, succeeded, results]
  } catch {
    return undefined
  }
}
