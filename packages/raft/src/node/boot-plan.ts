// Rule: what a member does at its start, decided from the contents of its log and of its state machine. A
// truth table.
//
//   machine         against the log [start, last]          then
//   none            start is 0                              start with an empty machine
//   none            start beyond 0                          rebuild: entries that it would need are gone
//   applied         before start                            rebuild: the same
//   applied         inside, with the same term              continue after applied
//   applied         inside, with another term               rebuild: the two are of different histories (a
//   disk was rolled back)
//   applied         beyond last                             restart the log there: the crash came after an
//   installed snapshot was
//                                                           swapped in and before the log recorded it; the
//                                                           vote stays

import type { LogPosition } from '../core/types.js'
import type { AppliedState } from './state-machine.js'

export type BootPlan =
  | { readonly type: 'fresh' }
  | { readonly type: 'go'; readonly state: AppliedState }
  | { readonly type: 'restart-log'; readonly state: AppliedState }
  | { readonly type: 'rebuild' }

export interface LogExtent {
  readonly start: LogPosition
  readonly lastIndex: number
  /** Called with indices from start to lastIndex. */
  termAt(index: number): number
}

export function planBoot(log: LogExtent, applied: AppliedState | undefined): BootPlan {
  if (applied === undefined) return log.start.index === 0 ? { type: 'fresh' } : { type: 'rebuild' }
  const { index, term } = applied.position
  if (index < log.start.index) return { type: 'rebuild' }
  if (index > log.lastIndex) return { type: 'restart-log', state: applied }
  return log.termAt(index) === term ? { type: 'go', state: applied } : { type: 'rebuild' }
}
