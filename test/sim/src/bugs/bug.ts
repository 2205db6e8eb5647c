// Rule: a known bug: what the bug changes in the compiled core, and within how many seeds the simulator must
// find it.

import type { Change } from '../run/changed-packages.js'
import type { RaftWorkload } from '../raft/options.js'

export interface Bug {
  readonly name: string
  /** The ids of the broken laws in docs/laws.md. */
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  /** The profile from which the runs are drawn. Undefined means any profile. */
  readonly profile?: RaftWorkload
  /**
   * Within how many seeds the simulator must find the bug. 0 means that random runs would take too long, so
   * only the scenarios count.
   */
  readonly seeds: number
  /**
   * Which kind of law a seed must break. An assertion of the core counts as safety. A run that fails in
   * another way proves nothing about the bug.
   */
  readonly breaks?: 'safety' | 'liveness'
  /** An id of the directed scenarios that must find the bug. */
  readonly scenario?: string
}
