// Rule: a known bug: what to change in the compiled core, and within how many seeds the simulator must
// notice.

import type { Change } from '../run/changed-packages.js'
import type { RaftWorkload } from '../raft/options.js'

export interface Bug {
  readonly name: string
  /** Of docs/laws.md. */
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  /** Drawn by chance from this profile, or from any. */
  readonly profile?: RaftWorkload
  /** Seeds within which it must be caught; 0: chance would take too long, only the scenarios count. */
  readonly seeds: number
  /**
   * What a seed must break; an assertion of the core counts as safety. A run that fails otherwise proves
   * nothing about the bug.
   */
  readonly breaks?: 'safety' | 'liveness'
  /** Directed scenarios that must catch it, by one of their ids. */
  readonly scenario?: string
}
