// Rule: which ranges of stored keys a command needs before it can run. LevelDB has no synchronous iterator, so they are looked
// up first; everything else of apply is synchronous.

import { binary } from '@latchkey/base'
import { type Command, OP, STEP, type Step } from '@latchkey/protocol'

export interface NeededRange {
  /** The step, or the command itself, that it is for. */
  readonly of: object
  readonly start: string
  readonly end: string
}
/** For each: a superset of the live keys in it, as they were before this command's entry or later. */
export type FoundKeys = ReadonlyMap<object, readonly string[]>

const NONE: readonly NeededRange[] = []

export function rangesOf(command: Command): readonly NeededRange[] {
  switch (command[0]) {
    case OP.deleteRange:
      return needed(command, command[2], command[3])
    case OP.batch:
      return inSteps(command[2])
    case OP.txn:
      return [...inSteps(command[3]), ...inSteps(command[4])]
    default:
      return NONE
  }
}

function inSteps(steps: readonly Step[]): readonly NeededRange[] {
  return steps.flatMap((step) => (step[0] === STEP.deleteRange ? needed(step, step[1], step[2]) : NONE))
}

/** start >= end removes nothing, and needs nothing. */
function needed(of: object, start: Uint8Array, end: Uint8Array): readonly NeededRange[] {
  const range = { of, start: binary(start), end: binary(end) }
  return range.start < range.end ? [range] : NONE
}
