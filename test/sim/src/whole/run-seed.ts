// Driver: runs one seed of the whole profile.

import { type RunResult, runSeed } from '../run/run-seed.js'
import { employ } from './clients/workload.js'
import { type DrawnFault, drawFaults } from './draw-faults.js'
import { WholeNemesis } from './nemesis.js'
import type { WholeOptions } from './options.js'
import type { ProductModules } from './product-modules.js'
import { demandProgress, judgeHistory } from './progress.js'
import { type WholeMode as WorldMode, WholeWorld } from './whole-world.js'

export interface WholeMode extends WorldMode {
  /** The faults to use instead of the faults that the seed draws. */
  readonly faults?: readonly DrawnFault[] | undefined
}

export function runWhole(
  options: WholeOptions,
  product: ProductModules,
  mode: WholeMode = {},
): Promise<RunResult<DrawnFault>> {
  const world: WholeWorld = new WholeWorld(options, product, (client) => employ(world, client), mode)
  const nemesis = new WholeNemesis(world)
  return runSeed(world, mode.faults ?? drawFaults(options), {
    startFaults: (all) => nemesis.schedule(all),
    endFaults: () => nemesis.end(),
    demandProgress: () => demandProgress(world),
    judgeHistory: () => judgeHistory(world),
  })
}
