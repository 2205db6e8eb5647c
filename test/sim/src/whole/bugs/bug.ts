// Types: a known bug of the whole profile.

import type { KnownBug } from '../../run/known-bug.js'
import type { WholeFault } from '../draw-faults.js'
import type { WholeOptions, WholeWorkload } from '../options.js'

export type WholeBug = KnownBug<WholeWorkload, WholeOptions, WholeFault>
