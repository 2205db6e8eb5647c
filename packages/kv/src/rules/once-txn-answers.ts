// Rule: keeps the answer of a txn with `once`, which is applied only once. The txn names a key, whose value
// is the kept answer.
//
// Law: the answer is written in the same entry and revision as the writes. A repeated txn with the same key
// gets the kept answer and writes nothing, also in another session or at another member (C73). Without this
// law: a script sends an increment, and its member crashes before the answer. The script sends the increment
// to another member, and the counter grows by two.
//
// Law: the kept answer is looked up before the guard is checked. Without this law: a guarded write is
// applied, its answer is lost, and the lock is released. The answer to the repeated call says that nothing
// was changed.
//
// Law: the kept answer contains a digest of its request. Without this law: two scripts use the same key for
// different writes. Each script gets a success, but one of the writes did not happen.

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
 * Returns the kept answer, which is the value of `row`, or USED_FOR_OTHER if the row belongs to another
 * request. The revision of the row is the revision of the writes.
 */
export function keptAnswer([, digest]: OnceArg, row: Uint8Array): Refused | readonly unknown[] {
  const kept = recordIn(valueOf(row))
  if (kept === undefined || !equalBytes(kept[0], digest)) return USED_FOR_OTHER
  return [kept[1], modifiedOf(row), kept[2]]
}

/** Returns undefined if the value is not a kept answer. */
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
