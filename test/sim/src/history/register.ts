// Rule: a register as a sequential object, and which operations can be left out of its history without
// changing the result.

import type { Operation } from './history.js'
import { type Model, type Verdict, linearizable } from './linearizable.js'

export const register: Model<number, Operation> = {
  initial: 0,
  key: (state) => state,
  step(state, operation) {
    const unknown = operation.end === Number.POSITIVE_INFINITY
    if (!unknown && operation.seen !== state) return undefined
    if (operation.kind === 'read') return state
    if (operation.kind === 'write') return operation.value
    const swaps = state === operation.expected
    if (!unknown && swaps !== operation.swapped) return undefined
    return swaps ? operation.value : state
  },
}

/**
 * Every written value is unique, and every operation with a known outcome says which value it saw. Some
 * operations with unknown outcome wrote a value that nobody saw and that no other unknown swap waits for.
 * Such an operation can always be placed at the end, where it changes nothing.
 */
export function relevant(operations: readonly Operation[]): readonly Operation[] {
  const seen = new Set<number>()
  for (const { kind, end, seen: value, expected } of operations) {
    if (end !== Number.POSITIVE_INFINITY) seen.add(value)
    else if (kind === 'swap') seen.add(expected)
  }
  return operations.filter(
    ({ kind, value, end }) => end !== Number.POSITIVE_INFINITY || (kind !== 'read' && seen.has(value)),
  )
}

export const checkRegister = (operations: readonly Operation[]): Verdict =>
  linearizable(relevant(operations), register)
