// Rule: one record of the log, in memory. A head record has the start, the hard state and the identity. A
// turn record has the changes of one turn.

import type { Entry, HardState, LogPosition } from '../core/types.js'
import type { Identity } from './log-interface.js'

/** A position in the log, and the encoded membership there. */
export interface Start {
  readonly position: LogPosition
  readonly membership: Uint8Array
}

/** The changes of one turn, in the order in which they take effect. */
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

/** Returns the log's last index after `turn`, if `last` was the last index before it. */
export function lastIndexAfter(turn: Turn, last: number): number {
  const { entries } = turn
  const newest = entries.at(-1)
  if (newest !== undefined) return newest.index
  if (turn.start !== undefined) return turn.start.position.index
  return turn.voidFrom === undefined ? last : Math.min(last, turn.voidFrom - 1)
}

/**
 * Returns null, or the reason why `turn` cannot follow a log from `first` to `last`. `first` is the start
 * position, before the first entry.
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
