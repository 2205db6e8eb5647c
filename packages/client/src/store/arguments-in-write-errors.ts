// Rule: adds the caller's arguments to the error of a refused write: the lock and the token of the guard, or
// the key of an increment. The answers of members do not contain these arguments.

import { copyBytes } from '@latchkey/base'
import {
  type Command,
  type Decoding,
  fenced,
  guardsOf,
  isLatchkeyError,
  type KeyValueCommand,
  LatchkeyError,
  nameOfLockKey,
  OP,
  show,
  shownKey,
} from '@latchkey/protocol'

interface NamedGuard {
  readonly key: Uint8Array
  readonly token: number
}

/**
 * Returns the first lock of the guard and its token, for the error of a refused write. The key is a copy,
 * because the caller may change its bytes after the call. If the store was made by `store.sub(prefix)`, the
 * key has no prefix.
 */
export function guardNamed([, guard]: KeyValueCommand, { prefix }: Decoding): NamedGuard | undefined {
  const [first] = guardsOf(guard)
  if (first === undefined) return undefined
  return { key: copyBytes(nameOfLockKey(first[0]).subarray(prefix.length)), token: first[1] }
}

export function throwNamed(
  error: unknown,
  command: Command,
  how: Decoding,
  guard: NamedGuard | undefined,
): never {
  if (guard !== undefined && isLatchkeyError(error, 'ERR_FENCED')) throw fenced(guard, error)
  if (command[0] === OP.increment && isLatchkeyError(error, 'ERR_NOT_A_NUMBER')) {
    const key = shownKey(command[2].subarray(how.prefix.length))
    throw new LatchkeyError(error.code, `${error.message} The key is ${show(key)}.`, { key })
  }
  throw error
}

/**
 * Returns the error of a write that is not sent, because the store knows that the lock of the write's guard
 * is lost.
 */
export const refusedAsLost = (guard: NamedGuard): LatchkeyError => fenced(guard)
