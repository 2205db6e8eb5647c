// Rule: finds the ranges of stored rows that a command needs before it can run. LevelDB has no synchronous
// iterator, so these rows are read before the command runs. All other steps of applying a command are
// synchronous.

import { binary } from '@latchkey/base'
import { type Command, OP, STEP, type Step } from '@latchkey/protocol'
import type { Changes } from '../state/command-event-rows.js'
import type { RangeRows } from '../state/row-table-with-overlay.js'
import type { OverBudget } from './command-budget.js'

/** A range of keys. A key has one character for each byte. `start` is in the range, and `end` is not. */
export interface KeySpan {
  readonly start: string
  readonly end: string
}

/**
 * The deleteRange steps of a batch, or of one branch of a txn. If the ranges of the steps overlap, each row
 * is read only once.
 */
export interface NeededSteps {
  readonly steps: readonly Step[]
  /** The ranges of the steps, in order and without overlaps. */
  readonly spans: readonly KeySpan[]
}

/**
 * The part of the index of expiring keys that an entry needs: all keys of some sessions, then the keys that
 * are due before `now`.
 */
export interface NeededLives {
  readonly sessions: readonly number[]
  readonly spans: readonly KeySpan[]
  readonly now: number
  readonly most: number
}

export interface FoundLives {
  readonly places: readonly string[]
  /** The sessions whose keys were all found. */
  readonly wholeSessions: readonly number[]
  /** True if more keys must be removed than the look-up has read. */
  readonly isCut: boolean
  /**
   * The due time of the first key that was not taken. null means that there is no such key. undefined means
   * that the look-up did not search for due keys.
   */
  readonly next: number | null | undefined
}

/**
 * `whole` is the range of a deleteRange that is a command of its own. Such a command may remove any number of
 * rows.
 */
export type Needed =
  | { readonly whole: KeySpan }
  | { readonly branches: readonly NeededSteps[] }
  | { readonly lives: NeededLives }

/** All live rows of a range, so that no row of the range has to be read again. */
export interface WholeRange extends RangeRows {
  readonly count: number
  /** The events of the removal. Undefined if the history cannot hold so many events. */
  readonly changes: Changes | undefined
}

/**
 * The live keys of some ranges, in order. If there are too many keys, the look-up has ended early with an
 * error.
 */
export type LiveKeys = readonly string[] | OverBudget

/** The rows as they are when the command begins. Nothing else is applied while the command's entry waits. */
export interface Found {
  readonly whole?: WholeRange
  readonly live?: ReadonlyMap<readonly Step[], LiveKeys>
  readonly lives?: FoundLives
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

/** Whether the range is empty, so that the step removes nothing. */
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

/** Joins ranges that overlap. */
export function union(spans: readonly KeySpan[]): KeySpan[] {
  const joined: KeySpan[] = []
  for (const span of [...spans].sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))) {
    const last = joined[joined.length - 1]
    if (last === undefined || span.start > last.end) joined.push(span)
    else if (span.end > last.end) joined[joined.length - 1] = { start: last.start, end: span.end }
  }
  return joined
}
