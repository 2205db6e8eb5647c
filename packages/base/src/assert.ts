// Rule: a broken law stops the work at once; asserts stay on in production.

export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** For the branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`)
}
