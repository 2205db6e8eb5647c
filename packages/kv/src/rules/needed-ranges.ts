// Rule: which ranges of stored keys a command needs before it can run. LevelDB has no synchronous iterator, so they are looked
// up first; everything else of apply is synchronous.

import { binary } from '@latchkey/base'
import { type Command, OP, STEP, type Step } from '@latchkey/protocol'
import type { Changes } from '../state/changes.js'
import type { RangeRows } from '../state/row-table.js'
import type { OverBudget } from './budget.js'

/** Of keys, a character a byte: start inclusive, end exclusive. */
export interface KeySpan {
  readonly start: string
  readonly end: string
}

/** The deleteRange steps of a batch, or of a branch of a txn. Where they overlap they are looked up once. */
export interface NeededSteps {
  readonly steps: readonly Step[]
  /** In order, none overlaps another. */
  readonly spans: readonly KeySpan[]
}

/** `whole`: a deleteRange that stands alone, however much it removes. */
export type Needed = { readonly whole: KeySpan } | { readonly branches: readonly NeededSteps[] }

/** All that is live in a range, however much it is, so that nothing of it has to be looked at again. */
export interface WholeRange extends RangeRows {
  readonly count: number
  /** Their removal; undefined: it is more than the history may hold. */
  readonly changes: Changes | undefined
}

/** The live keys of some ranges, in order; or why they are too many: then the look-up ended before it had all. */
export type LiveKeys = readonly string[] | OverBudget

/** As the state is when the command begins: while its entry waits nothing else is applied. */
export interface Found {
  readonly whole?: WholeRange
  readonly live?: ReadonlyMap<readonly Step[], LiveKeys>
}
export const NOTHING_FOUND: Found = {}

export function rangesOf(command: Command): Needed | undefined {
  switch (command[0]) {
    case OP.deleteRange: {
      const span = spanOf(command[2], command[3])
      return isEmpty(span) ? undefined : { whole: span }
    }
    case OP.batch:
      return inBranches([command[2]])
    case OP.txn:
      return inBranches([command[3], command[4]])
    default:
      return undefined
  }
}

const spanOf = (start: Uint8Array, end: Uint8Array): KeySpan => ({ start: binary(start), end: binary(end) })

/** It removes nothing, and needs nothing. */
const isEmpty = ({ start, end }: KeySpan): boolean => start >= end

function inBranches(branches: readonly (readonly Step[])[]): Needed | undefined {
  const needed = branches
    .map((steps) => ({ steps, spans: union(steps.flatMap(spansOf)) }))
    .filter(({ spans }) => spans.length > 0)
  return needed.length === 0 ? undefined : { branches: needed }
}

function spansOf(step: Step): KeySpan[] {
  if (step[0] !== STEP.deleteRange) return []
  const span = spanOf(step[1], step[2])
  return isEmpty(span) ? [] : [span]
}

/** What is in any of them, without overlaps. */
export function union(spans: readonly KeySpan[]): KeySpan[] {
  const joined: KeySpan[] = []
  for (const span of [...spans].sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))) {
    const last = joined[joined.length - 1]
    if (last === undefined || span.start > last.end) joined.push(span)
    else if (span.end > last.end) joined[joined.length - 1] = { start: last.start, end: span.end }
  }
  return joined
}
