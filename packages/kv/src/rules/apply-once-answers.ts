// Rule: keeps the answer of a txn that has a key. The key makes the txn apply only once.
//
// Law: the answer is written in the same entry and revision as the writes. A caller that repeats the txn with
// the same key, even over another session and at another member, gets the kept answer, and nothing is written
// (C73). Without this law: a script sends an increment, and its member dies before the answer. The script
// sends the increment to another member, and the counter has grown by two.
//
// Law: the kept answer comes before the guard. Without this law: a guarded write is applied, its answer is
// lost, the lock is released, and the answer to the repeated call says that nothing was changed.
//
// Law: the kept answer contains a digest of its request. Without this law: two scripts use the same key for
// different writes. Each script gets a success, but only one of the writes has happened.

import { equalBytes } from '@latchkey/base'
import { type OnceArg, pack, type StepResult, unpack } from '@latchkey/protocol'
import { type Refused, USED_FOR_OTHER } from '../commands/answers.js'
import { modifiedOf, valueOf } from '../state/key-value-row.js'

export const keptRecord = (
  [, digest]: OnceArg,
  succeeded: boolean,
  results: readonly StepResult[],
): Uint8Array => pack([digest, succeeded, results])

/** Returns the kept answer. The revision of `row` is the revision of the writes. */
export function keptAnswer([, digest]: OnceArg, row: Uint8Array): Refused | readonly unknown[] {
  const kept = recordIn(valueOf(row))
  if (kept === undefined || !equalBytes(kept[0], digest)) return USED_FOR_OTHER
  return [kept[1], modifiedOf(row), kept[2]]
}

/** Returns undefined if the value of the key is not a kept answer. */
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
