// Rule: finds the ranges of stored rows that a command needs before it can run. Commands run synchronously,
// and LevelDB has no synchronous iterator. So the state machine reads these rows first.

import { binary } from '@latchkey/base'
import { type Command, OP, STEP, type Step } from '@latchkey/protocol'
import type { Changes } from '../state/command-event-rows.js'
import type { RangeRows } from '../state/row-table-with-overlay.js'
import type { OverBudget } from './work-limit-per-command.js'

/** A range of keys, as texts with one character for each byte. `start` is in the range, and `end` is not. */
export interface KeySpan {
  readonly start: string
  readonly end: string
}

/** The deleteRange steps of a batch, or of one branch of a txn. */
interface NeededSteps {
  readonly steps: readonly Step[]
  /** The ranges of the steps, sorted. Overlapping ranges are joined, so that each row is read once. */
  readonly spans: readonly KeySpan[]
}

/**
 * The part of the index of expiring keys (key-expiry-index.ts) that an entry needs. `spans` has one range for
 * each ended session in `sessions`, then a range for the keys whose ttl has ended before `now`. `most` is the
 * most keys to read.
 */
export interface NeededExpiry {
  readonly sessions: readonly number[]
  readonly spans: readonly KeySpan[]
  readonly now: number
  readonly most: number
}

export interface FoundExpiry {
  readonly indexKeys: readonly string[]
  /** The ended sessions whose keys were all found. */
  readonly wholeSessions: readonly number[]
  /** True if the look-up reached its limit of keys, so that more keys must be removed later. */
  readonly isCut: boolean
  /**
   * The end of the ttl of the first key that was not read. null means that all keys with a ttl were read.
   * undefined means that the look-up did not search for keys with a ttl.
   */
  readonly next: number | null | undefined
}

/**
 * The stored rows that a command or an entry needs before it can continue. `whole` is the range of a
 * deleteRange that is not a step of a batch or txn.
 */
export type Needed =
  | { readonly whole: KeySpan }
  | { readonly branches: readonly NeededSteps[] }
  | { readonly expiry: NeededExpiry }

export interface WholeRange extends RangeRows {
  readonly count: number
  /** The events of the removal. Undefined if there are too many events for the history. */
  readonly changes: Changes | undefined
}

/** The existing keys of some ranges, in order, or an error if the ranges have too many keys or bytes. */
export type LiveKeys = readonly string[] | OverBudget

/**
 * What a look-up has found for a command. The rows stay the same until the command runs, because the member
 * applies nothing else while the command waits.
 */
export interface Found {
  readonly whole?: WholeRange
  readonly live?: ReadonlyMap<readonly Step[], LiveKeys>
  readonly expiry?: FoundExpiry
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

export function union(spans: readonly KeySpan[]): KeySpan[] {
  const joined: KeySpan[] = []
  for (const span of [...spans].sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))) {
    const last = joined[joined.length - 1]
    if (last === undefined || span.start > last.end) joined.push(span)
    else if (span.end > last.end) joined[joined.length - 1] = { start: last.start, end: span.end }
  }
  return joined
}
