// Driver: runs one seed of the Raft profile.

import type { History } from '../history/history.js'
import { checkRegister } from '../history/register.js'
import { LawBroken } from '../laws/verdict.js'
import { type RunResult, runSeed } from '../run/run-seed.js'
import { drawPlan, type Fault } from './draw-faults.js'
import { RaftNemesis } from './nemesis.js'
import type { Options } from './options.js'
import type { RaftModules } from './raft-modules.js'
import { demandProgress } from './progress.js'
import { type RunMode, RaftWorld } from './raft-world.js'

export function run(
  options: Options,
  modules: RaftModules,
  mode: RunMode & { readonly faults?: readonly Fault[] } = {},
): Promise<RunResult<Fault>> {
  const world = new RaftWorld(options, modules, mode)
  const nemesis = new RaftNemesis(world)
  const { clients, history } = world
  return runSeed(world, mode.faults ?? drawPlan(options), {
    startFaults: (faults) => {
      clients.start(options.clients)
      nemesis.schedule(faults)
    },
    endFaults: () => {
      clients.stop()
      nemesis.end()
    },
    demandProgress: async () => {
      await demandProgress(world)
      clients.finish()
    },
    judgeHistory: () => judgeHistory(history),
  })
}

function judgeHistory(history: History): void {
  for (const [key, calls] of history.keys()) {
    const { ok } = checkRegister(calls)
    if (ok === undefined) throw new Error(`the history of register ${key} is too long to judge`)
    if (!ok)
      throw new LawBroken('linearizability', `register ${key}: no order of its ${calls.length} calls fits`)
  }
}
