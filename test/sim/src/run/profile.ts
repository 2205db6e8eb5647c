// Types: a profile of the simulator, as the command line sees it.

import type { WorldMode } from '../world/world.js'
import type { Change } from './changed-packages.js'
import type { KnownBug } from './known-bug.js'
import type { NumberedFault, RunResult } from './run-seed.js'

export interface SeedOptions {
  readonly seed: number
  readonly workload: string
}

export interface SeedMode extends WorldMode {
  /** These faults replace the faults of the seed. */
  readonly faults?: readonly NumberedFault[] | undefined
}

export type Setting = readonly [path: string, value: unknown]

export interface LoadedProfile {
  run(options: SeedOptions, mode?: SeedMode): Promise<RunResult>
  /**
   * Plays the directed scenarios with this id. Returns the first broken law, or undefined. The whole profile
   * has no scenarios.
   */
  play?(id: string, mode: WorldMode): Promise<string | undefined>
  remove(): void
}

export interface Profile {
  readonly name: string
  readonly workloads: readonly string[]
  /** Settings that make a run easier to read. The setting with the largest effect is first. */
  readonly simpler: readonly Setting[]
  /** Without a workload, the seed draws one. */
  draw(seed: number, workload?: string): SeedOptions
  drawFaults(options: SeedOptions): readonly NumberedFault[]
  readonly bugs: readonly KnownBug[]
  load(changes?: readonly Change[]): Promise<LoadedProfile>
}
