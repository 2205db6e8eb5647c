// Driver: the whole profile for the command line.

import type { Change, LoadedModules } from '../run/changed-packages.js'
import type { LoadedProfile, Profile } from '../run/profile.js'
import { wholeBugs } from './bugs/all.js'
import { drawFaults, needsForeign } from './draw-faults.js'
import { drawWhole, WHOLE_WORKLOADS, type WholeOptions, type WholeWorkload } from './options.js'
import { loadProduct, type ProductModules } from './product-modules.js'
import { runWhole, type WholeMode } from './run-seed.js'

export const wholeProfile: Profile = {
  name: 'whole',
  workloads: WHOLE_WORKLOADS,
  simpler: [
    ['clients', 1],
    ['embedded', 0],
    ['netTail', 0],
    ['syncTail', 0],
    ['clocks', 'true'],
    ['everyEntries', 1_000],
    ['encoded', false],
    ['keys', 1],
    ['locks', 1],
  ],
  draw: (seed, workload) => drawWhole(seed, workload as WholeWorkload | undefined),
  drawFaults: (options) => drawFaults(options as WholeOptions),
  bugs: wholeBugs,
  load,
}

async function load(changes?: readonly Change[]): Promise<LoadedProfile> {
  const { modules, remove } = await loadProduct(changes)
  let foreign: LoadedModules<ProductModules> | undefined
  return {
    run: async (options, mode) => {
      const { faults } = (mode ?? {}) as WholeMode
      if (needsForeign(faults)) foreign ??= await loadProduct(changes)
      return runWhole(options as WholeOptions, modules, { ...mode, faults, foreignProduct: foreign?.modules })
    },
    remove: () => {
      remove()
      foreign?.remove()
    },
  }
}
