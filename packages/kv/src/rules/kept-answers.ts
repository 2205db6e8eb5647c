// Rule: the kept answer of a txn that is applied once.
//
// Law (C73): the answer is written in the entry of the writes, and in their revision. Whoever asks again under
// the same key, over another session and at another member, gets that answer, and nothing is written. Without
// this law: a script sends an increment, its member dies before it answers, the script asks another member,
// and the counter has grown by two.
//
// Law: the kept answer comes before the guard. Without this law: a guarded write is applied, its answer is lost,
// the lock is released, and the repeat is told that nothing was changed.
//
// Law: the record says which request it answers, by a digest. Without this law: two scripts that use the same
// key for different writes are both told of success, and one of the writes has never happened.

import { equalBytes } from '@latchkey/base'
import { type OnceArg, pack, type StepResult, unpack } from '@latchkey/protocol'
import { type Refused, USED_FOR_OTHER } from '../commands/answers.js'
import { modifiedOf, valueOf } from '../state/data-row.js'

export const keptRecord = (
  [, digest]: OnceArg,
  succeeded: boolean,
  results: readonly StepResult[],
): Uint8Array => pack([digest, succeeded, results])

/** The revision of the row is that of the writes. */
export function keptAnswer([, digest]: OnceArg, row: Uint8Array): Refused | readonly unknown[] {
  const kept = recordIn(valueOf(row))
  if (kept === undefined || !equalBytes(kept[0], digest)) return USED_FOR_OTHER
  return [kept[1], modifiedOf(row), kept[2]]
}

/** undefined: something else was put there. */
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
