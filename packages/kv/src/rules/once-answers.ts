// Rule: keeps the answers of commands that are applied only once: a txn with `once`, and applyOnce with its
// inner command. Such a command names a key, whose value is the kept answer.
//
// Law: the answer is written in the same entry as the changes. A repeated command with the same key gets the
// kept answer and changes nothing, also in another session or at another member (C73). Without this law: a
// latch waits for two workers. The script of one worker sends a countDown, and its member crashes before the
// answer. The script sends the countDown to another member, and the latch opens while the other worker still
// works.
//
// Law: the kept answer is looked up before the guard is checked. Without this law: a guarded write is
// applied, its answer is lost, and the lock is released. The answer to the repeated call says that nothing
// was changed.
//
// Law: the kept answer contains a digest of its request. Without this law: two scripts use the same key for
// different writes. Each script gets a success, but one of the writes did not happen.
//
// Law: the answer to a repeated change of a hold is made from the present hold, and not from a kept answer
// (C76). Without this law: a script repeats a rotate when almost the whole lease has passed. The kept answer
// says that the whole lease remains. The script works on while another caller acquires the lock.

import { equalBytes } from '@latchkey/base'
import { CODE } from '@latchkey/lock'
import {
  type CommandOf,
  type InnerCommand,
  type OnceArg,
  OP,
  type OwnerResult,
  pack,
  type StepResult,
  unpack,
} from '@latchkey/protocol'
import { Refused, USED_FOR_OTHER } from '../commands/answer-encoding.js'
import { modifiedOf, valueOf } from '../state/key-value-row-format.js'

export const keptRecordOfTxn = (
  [, digest]: OnceArg,
  succeeded: boolean,
  results: readonly StepResult[],
): Uint8Array => pack([digest, succeeded, results])

/**
 * Returns the kept answer of the txn, which is the value of `row`, or USED_FOR_OTHER if the row belongs to
 * another request. The revision of the row is the revision of the writes.
 */
export function keptAnswerOfTxn(once: OnceArg, row: Uint8Array): Refused | readonly unknown[] {
  const [, succeeded, results] = recordIn(once, row, 3) ?? []
  if (typeof succeeded !== 'boolean' || !Array.isArray(results)) return USED_FOR_OTHER
  return [succeeded, modifiedOf(row), results]
}

/**
 * Returns the record of the inner command's answer, or undefined if the command has failed. A failed command
 * has changed nothing, and the same key may be used again.
 */
export function keptRecordOf(
  [, digest]: OnceArg,
  command: InnerCommand,
  result: unknown,
): Uint8Array | undefined {
  if (result instanceof Refused) return undefined
  if (command[0] === OP.countDown && result === null) return undefined
  if (!isChangeOfHold(command)) return pack([digest, result])
  return (result as OwnerResult)[6] === CODE.KEEP_LEASE ? pack([digest, true]) : undefined
}

/** The kept answer of such a command is only true. */
export const isChangeOfHold = (
  command: InnerCommand,
): command is CommandOf<'downgrade' | 'proclaim' | 'rotate'> =>
  command[0] === OP.downgrade || command[0] === OP.proclaim || command[0] === OP.rotate

/**
 * Returns the kept answer of an inner command, or USED_FOR_OTHER if the row belongs to another request.
 *
 * Law: the answer has no text and no bytes, as the answer of every inner command. Without this law: an
 * application stores a list of bytes under its own key. A caller that may write and not read names this key as
 * the key of its request, and gets the secret in the list as its answer.
 */
export function keptAnswerOf(once: OnceArg, row: Uint8Array): unknown {
  const [, result] = recordIn(once, row, 2) ?? []
  return typeof result === 'boolean' || isCount(result) || (Array.isArray(result) && result.every(isCount))
    ? result
    : USED_FOR_OTHER
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** Returns undefined if the value of the row is not a kept answer to this request. */
function recordIn([, digest]: OnceArg, row: Uint8Array, places: number): readonly unknown[] | undefined {
  try {
    const record = unpack(valueOf(row))
    if (!Array.isArray(record) || record.length !== places) return undefined
    const of: unknown = record[0]
    return of instanceof Uint8Array && equalBytes(of, digest) ? record : undefined
  } catch {
    return undefined
  }
}
