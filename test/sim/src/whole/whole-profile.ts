// Driver: the whole profile for the command line.

import type { Profile } from '../run/profile.js'
import { runWholeBugs } from './bugs/runner.js'
import { drawFaults } from './draw-faults.js'
import { drawWhole, WHOLE_WORKLOADS, type WholeOptions, type WholeWorkload } from './options.js'
import { loadProduct } from './product-modules.js'
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
  load: async () => {
    const { product, remove } = await loadProduct()
    return {
      run: (options, mode) => runWhole(options as WholeOptions, product, mode as WholeMode | undefined),
      remove,
    }
  },
  runBugs: (name, _, print) => runWholeBugs(name, print),
}
