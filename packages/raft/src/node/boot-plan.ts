// Rule: what a member does at its start, decided from the contents of its log and of its state machine, as
// a truth table.
//
//   state machine   against the log [start, last]    then
//   none            start is 0                       start with an empty state machine
//   none            start beyond 0                   rebuild: entries that it would need are gone
//   applied         before start                     rebuild, for the same reason
//   applied         inside, with the same term       continue after applied
//   applied         inside, with another term        rebuild: the two have different histories, because a
//                                                    disk was rolled back
//   applied         beyond last                      restart the log there. A snapshot was installed, and the
//                                                    crash came before the log recorded that. The vote stays

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
