// Types: a known bug: what the bug changes in the compiled packages, and within how many seeds the simulator
// must find it.

import type { Change } from './changed-packages.js'

export interface KnownBug<Workload extends string = string, Options = object, Fault = { kind: string }> {
  readonly name: string
  /** The ids of the broken laws in docs/laws.md. */
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  /** The workload of all seeds. Undefined means that each seed draws its workload. */
  readonly workload?: Workload
  /**
   * Within how many seeds the simulator must find the bug. 0 means that random runs would take too long, so
   * only the scenarios count.
   */
  readonly seeds: number
  /**
   * Which kind of law a seed must break. A crash of the tested code counts as 'safety', which is the default.
   * A run that fails in another way proves nothing about the bug.
   */
  readonly breaks?: 'safety' | 'liveness'
  /** An id of the directed scenarios that must find the bug. Only the Raft profile has such scenarios. */
  readonly scenario?: string
  /** Options that replace the options of each seed, so that fewer seeds are needed. */
  readonly options?: Partial<Options>
  /** Faults that replace the faults that the seed draws. */
  readonly faults?: readonly Fault[]
}
