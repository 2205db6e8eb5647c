// Types: a known bug: a change of the compiled packages, and the number of seeds within which the simulator
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
   * The simulator must find the bug within this many seeds. 0 means that random runs would take too long, so
   * only the scenarios count.
   */
  readonly seeds: number
  /**
   * The kind of law that a seed must break. The default is 'safety', and a crash counts as 'safety'. A run
   * that fails in another way proves nothing about the bug.
   */
  readonly breaks?: 'safety' | 'liveness'
  /** The id of the directed scenarios that must find the bug. Only the Raft profile has scenarios. */
  readonly scenario?: string
  /** These options replace the options of each seed, so that fewer seeds are needed. */
  readonly options?: Partial<Options>
  /** These faults replace the faults of the seed. */
  readonly faults?: readonly Fault[]
}
