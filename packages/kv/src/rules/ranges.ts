// Rule: which ranges of stored keys a command needs before it can run. LevelDB has no synchronous iterator, so they are looked
// up first; everything else of apply is synchronous.

import { binary } from '@latchkey/base'
import { type Command, OP, STEP, type Step } from '@latchkey/protocol'
import type { Changes } from '../state/changes.js'
import type { Sum } from '../state/sum.js'

export interface NeededRange {
  /** The step, or the command itself, that it is for. */
  readonly of: object
  readonly start: string
  readonly end: string
  /** The command does nothing else: what is found in it is what the command meets. */
  readonly alone: boolean
}

/** All that is live in a range, however much it is, so that nothing of it has to be looked at again. */
export interface WholeRange {
  /** In order. */
  readonly keys: readonly string[]
  /** Of their rows. */
  readonly sum: Sum
  /** Their removal. */
  readonly changes: Changes
}

export interface Found {
  /** For each range: a superset of the live keys in it, as they were before this command's entry or later. */
  readonly keys: ReadonlyMap<object, readonly string[]>
  /** Of a range that stands alone. */
  readonly whole?: WholeRange
}
export const NOTHING_FOUND: Found = { keys: new Map() }

const NONE: readonly NeededRange[] = []

export function rangesOf(command: Command): readonly NeededRange[] {
  switch (command[0]) {
    case OP.deleteRange:
      return needed(command, command[2], command[3], true)
    case OP.batch:
      return inSteps(command[2])
    case OP.txn:
      return [...inSteps(command[3]), ...inSteps(command[4])]
    default:
      return NONE
  }
}

function inSteps(steps: readonly Step[]): readonly NeededRange[] {
  return steps.flatMap((step) =>
    step[0] === STEP.deleteRange ? needed(step, step[1], step[2], false) : NONE,
  )
}

/** start >= end removes nothing, and needs nothing. */
function needed(of: object, start: Uint8Array, end: Uint8Array, alone: boolean): readonly NeededRange[] {
  const range = { of, start: binary(start), end: binary(end), alone }
  return range.start < range.end ? [range] : NONE
}
