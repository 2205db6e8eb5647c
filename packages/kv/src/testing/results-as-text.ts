// Rule: shows results in the form in which tests compare them: bytes as text, and an error answer as its
// code.

import { ERROR_CODES, SESSION_FULL, SESSION_OVER } from '@latchkey/protocol'

export function show(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (Array.isArray(value)) return value.map(show)
  return value
}

/** Returns the code of an error answer, or undefined for any other answer. */
export function codeOf(answer: unknown): string | undefined {
  if (!Array.isArray(answer) || answer.length < 4 || typeof answer[1] !== 'string') return undefined
  if (answer[0] === SESSION_OVER) return 'SESSION_OVER'
  return answer[0] === SESSION_FULL ? 'SESSION_FULL' : ERROR_CODES[(answer[0] as number) - 1]
}
