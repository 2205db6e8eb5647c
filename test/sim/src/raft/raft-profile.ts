// Driver: the Raft profile for the command line.

import { bugs } from '../bugs/all.js'
import type { Change } from '../run/changed-packages.js'
import type { LoadedProfile, Profile } from '../run/profile.js'
import { scenarios } from '../scenarios/all.js'
import { idsOf, play } from '../scenarios/scenario.js'
import type { WorldMode } from '../world/world.js'
import { drawPlan, type Fault } from './draw-faults.js'
import { drawOptions, type Options, RAFT_WORKLOADS, type RaftWorkload } from './options.js'
import { loadRaft, type RaftModules } from './raft-modules.js'
import { run } from './run-seed.js'

export const raftProfile: Profile = {
  name: 'raft',
  workloads: RAFT_WORKLOADS,
  simpler: [
    ['clients', 1],
    ['network.unreliable', undefined],
    ['network.tail', 0],
    ['disk.syncTail', 0],
    ['drift', 0],
    ['member.applyDelay', 0],
    ['member.batching', false],
    ['member.everyEntries', 1_000_000],
    ['member.maxInflight', 64],
    ['member.maxAppendBytes', 1_048_576],
    ['network.silentDeath', false],
    ['client.loss', 0],
    ['client.reads', 0],
    ['client.swaps', 0],
    ['client.keys', 1],
  ],
  draw: (seed, workload) => drawOptions(seed, workload as RaftWorkload | undefined),
  drawFaults: (options) => drawPlan(options as Options),
  bugs,
  load,
}

async function load(changes?: readonly Change[]): Promise<LoadedProfile> {
  const { modules, remove } = await loadRaft(changes)
  return {
    run: (options, mode) =>
      run(options as Options, modules, mode as { readonly faults?: readonly Fault[] } | undefined),
    play: (id, mode) => firstBroken(id, modules, mode),
    remove,
  }
}

async function firstBroken(id: string, modules: RaftModules, mode: WorldMode): Promise<string | undefined> {
  for (const scenario of scenarios.filter((one) => idsOf(one).includes(id))) {
    const { verdict, law } = await play(scenario, modules, mode)
    if (verdict !== 'pass') return law
  }
  return undefined
}
