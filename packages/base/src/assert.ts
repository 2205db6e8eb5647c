// Rule: assertions, which also run in production. A failed assertion throws an AssertionError.

export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`)
}

/**
 * Returns the element at index `i`, which must exist. This function builds the text of the error itself, and
 * only if the element does not exist. When each caller passed a text to `assert`, building the texts cost 4 %
 * of a member's CPU time.
 */
export function elementAt<T>(list: readonly T[], i: number): T {
  if (!(i >= 0 && i < list.length)) throw new AssertionError(`no element ${i} in a list of ${list.length}`)
  return list[i] as T
}

/** Returns the last element of a list, which must not be empty. */
export const lastOf = <T>(list: readonly T[]): T => elementAt(list, list.length - 1)
