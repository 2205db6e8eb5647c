// Rule: the sequential specification of a register, and a filter for operations that cannot change the
// verdict.

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
 * Leaves out an operation with unknown outcome if nobody saw its value and no other unknown swap waits for
 * its value. Such an operation can always have the last place, where it changes nothing. Every written value
 * is unique.
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
