// Rule: decides how a member starts, from the positions of its log and of its state machine.
//
//   state machine has   log from start to last         then
//   nothing             start is 0                     start with an empty state machine
//   nothing             start is after 0               rebuild: the first entries are not in the log
//   a position          before start                   rebuild: the next entries are not in the log
//   a position          in the log, with its term      continue after this position
//   a position          in the log, with another term  rebuild: an old copy of a disk was restored
//   a position          after last                     drop all entries: a crash came after a snapshot

import type { LogPosition } from '../core/types.js'
import type { AppliedState } from './state-machine-interface.js'

type BootPlan =
  | { readonly type: 'fresh' }
  | { readonly type: 'go'; readonly state: AppliedState }
  | { readonly type: 'restart-log'; readonly state: AppliedState }
  | { readonly type: 'rebuild' }

interface LogExtent {
  readonly start: LogPosition
  readonly lastIndex: number
  termAt(index: number): number
}

export function planBoot(log: LogExtent, applied: AppliedState | undefined): BootPlan {
  if (applied === undefined) return log.start.index === 0 ? { type: 'fresh' } : { type: 'rebuild' }
  const { index, term } = applied.position
  if (index < log.start.index) return { type: 'rebuild' }
  if (index > log.lastIndex) return { type: 'restart-log', state: applied }
  return log.termAt(index) === term ? { type: 'go', state: applied } : { type: 'rebuild' }
}
