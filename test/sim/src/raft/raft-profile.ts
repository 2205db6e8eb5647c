// Driver: the Raft profile for the command line.

import { runBugs } from '../bugs/runner.js'
import type { Profile } from '../run/profile.js'
import { drawPlan, type Fault } from './draw-faults.js'
import { drawOptions, type Options, RAFT_WORKLOADS, type RaftWorkload } from './options.js'
import { realModules } from './raft-modules.js'
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
  load: async () => ({
    run: (options, mode) =>
      run(options as Options, realModules, mode as { readonly faults?: readonly Fault[] }),
    remove: () => {},
  }),
  runBugs,
}
