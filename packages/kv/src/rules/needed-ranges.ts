// Rule: which ranges of stored rows a command needs before it can run.
// LevelDB has no synchronous iterator, so these rows are read first; everything else in apply is synchronous.

import { binary } from '@latchkey/base'
import { type Command, OP, STEP, type Step } from '@latchkey/protocol'
import type { Changes } from '../state/changes.js'
import type { RangeRows } from '../state/row-table.js'
import type { OverBudget } from './budget.js'

/** A range of keys, which have one character for each byte; `start` is included, `end` is not. */
export interface KeySpan {
  readonly start: string
  readonly end: string
}

/**
 * The deleteRange steps of a batch, or of one branch of a txn. Where their ranges overlap, rows are read
 * once.
 */
export interface NeededSteps {
  readonly steps: readonly Step[]
  /** The ranges of the steps, in order and without overlaps. */
  readonly spans: readonly KeySpan[]
}

/**
 * The part of the index of lives that an entry needs: all keys of some sessions, then the keys that are due
 * before `now`.
 */
export interface NeededLives {
  readonly sessions: readonly number[]
  readonly spans: readonly KeySpan[]
  readonly now: number
  readonly most: number
}

export interface FoundLives {
  readonly places: readonly string[]
  /** The sessions of which every key was found. */
  readonly wholeSessions: readonly number[]
  /** There are more keys to remove than were read. */
  readonly isCut: boolean
  /**
   * The due time of the first key that was not taken; null: there is none; undefined: it was not searched
   * for.
   */
  readonly next: number | null | undefined
}

/** `whole`: a deleteRange that is a command of its own and may remove any number of rows. */
export type Needed =
  | { readonly whole: KeySpan }
  | { readonly branches: readonly NeededSteps[] }
  | { readonly lives: NeededLives }

/** Everything that is live in a range, so that no row of it has to be read again. */
export interface WholeRange extends RangeRows {
  readonly count: number
  /** The changes of their removal; undefined: the history cannot hold so many. */
  readonly changes: Changes | undefined
}

/**
 * The live keys of some ranges, in order; or an error if they are too many, in which case the look-up ended
 * early.
 */
export type LiveKeys = readonly string[] | OverBudget

/** The rows at the beginning of the command; nothing else is applied while its entry waits. */
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

/** The range is empty, so the step removes nothing. */
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

/** Joins overlapping spans. */
export function union(spans: readonly KeySpan[]): KeySpan[] {
  const joined: KeySpan[] = []
  for (const span of [...spans].sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))) {
    const last = joined[joined.length - 1]
    if (last === undefined || span.start > last.end) joined.push(span)
    else if (span.end > last.end) joined[joined.length - 1] = { start: last.start, end: span.end }
  }
  return joined
}
