// Rule: one record of the log, in memory. The first record of a segment (its head) repeats the state of the
// log. Each other record has the changes of one turn of the event loop.

import type { Entry, HardState, LogPosition } from '../core/types.js'
import type { Identity } from './log-interface.js'

/** The position after which a log begins, and the encoded membership at that position. */
export interface Start {
  readonly position: LogPosition
  readonly membership: Uint8Array
}

/**
 * The parts of a record, in the order in which they take effect. `voidFrom` truncates the log: the entries
 * from this index on become invalid.
 */
export interface Turn {
  readonly voidFrom: number | undefined
  readonly start: Start | undefined
  readonly entries: readonly Entry[]
  readonly hardState: HardState | undefined
  readonly identity: Identity | undefined
}

export const NOTHING: Turn = {
  voidFrom: undefined,
  start: undefined,
  entries: [],
  hardState: undefined,
  identity: undefined,
}

/** Returns the log's last index after `turn`, given its last index before `turn`. */
export function lastIndexAfter(turn: Turn, last: number): number {
  const { entries } = turn
  const newest = entries.at(-1)
  if (newest !== undefined) return newest.index
  if (turn.start !== undefined) return turn.start.position.index
  return turn.voidFrom === undefined ? last : Math.min(last, turn.voidFrom - 1)
}

/**
 * Returns the reason why `turn` cannot follow, or null if `turn` can follow. The log has entries from `first`
 * + 1 to `last`.
 */
export function cannotFollow(turn: Turn, first: number, last: number): string | null {
  const { voidFrom, start, entries } = turn
  if (voidFrom !== undefined && voidFrom <= first)
    return `void from ${voidFrom}, but the log starts after ${first}`
  if (voidFrom !== undefined && voidFrom > last + 1)
    return `void from ${voidFrom}, but the log ends at ${last}`
  let next = start !== undefined ? start.position.index + 1 : (voidFrom ?? last + 1)
  for (const entry of entries) {
    if (entry.index !== next) return `entry ${entry.index} where entry ${next} belongs`
    next++
  }
  return null
}
