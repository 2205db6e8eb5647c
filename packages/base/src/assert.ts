// Rule: assertions. A broken law throws at once, in production too.

export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** For a branch that cannot be reached according to the types. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`)
}

/**
 * The element at index `i`, which must be in the list. The message is made for a failure only: this is called
 * many times for each command, and made each time the message cost a pair of acquire and release 4 % of a
 * member's time.
 */
export function elementAt<T>(list: readonly T[], i: number): T {
  if (!(i >= 0 && i < list.length)) throw new AssertionError(`no element ${i} in a list of ${list.length}`)
  return list[i] as T
}

/** The last element of a list that must not be empty. */
export const lastOf = <T>(list: readonly T[]): T => elementAt(list, list.length - 1)
