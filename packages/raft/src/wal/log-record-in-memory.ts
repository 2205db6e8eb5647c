// Rule: one record of the log, in memory. The first record of a segment (its head) repeats the state of the
// log. Each other record has the changes of one turn of the event loop.

import type { Entry, HardState, LogPosition } from '../core/types.js'
import type { Identity } from './log-types.js'

/** The position after which a log begins, and the encoded membership at that position. */
export interface Start {
  readonly position: LogPosition
  readonly membership: Uint8Array
}

/**
 * The parts of a record, in the order in which recovery applies them. The entries from the index
 * `truncateFrom` on become invalid.
 */
export interface RecordContent {
  readonly truncateFrom: number | undefined
  readonly start: Start | undefined
  readonly entries: readonly Entry[]
  readonly hardState: HardState | undefined
  readonly identity: Identity | undefined
}

export const NOTHING: RecordContent = {
  truncateFrom: undefined,
  start: undefined,
  entries: [],
  hardState: undefined,
  identity: undefined,
}

export function lastIndexAfter(record: RecordContent, last: number): number {
  const { entries } = record
  const newest = entries.at(-1)
  if (newest !== undefined) return newest.index
  if (record.start !== undefined) return record.start.position.index
  return record.truncateFrom === undefined ? last : Math.min(last, record.truncateFrom - 1)
}

/**
 * Returns the reason why `record` cannot follow the log, or null. The log has entries from `first` + 1 to
 * `last`.
 */
export function cannotFollow(record: RecordContent, first: number, last: number): string | null {
  const { truncateFrom, start, entries } = record
  if (truncateFrom !== undefined && truncateFrom <= first)
    return `truncate from ${truncateFrom}, but the log starts after ${first}`
  if (truncateFrom !== undefined && truncateFrom > last + 1)
    return `truncate from ${truncateFrom}, but the log ends at ${last}`
  let next = start !== undefined ? start.position.index + 1 : (truncateFrom ?? last + 1)
  for (const entry of entries) {
    if (entry.index !== next) return `entry ${entry.index} where entry ${next} belongs`
    next++
  }
  return null
}
