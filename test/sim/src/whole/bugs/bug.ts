// Rule: a known bug of the whole profile: what the bug changes in the compiled packages, and within how many
// seeds the simulator must find it.

import type { Change } from '../../run/changed-packages.js'
import type { WholeFault } from '../draw-faults.js'
import type { WholeOptions, WholeWorkload } from '../options.js'

export interface WholeBug {
  readonly name: string
  /** The ids of the broken laws in docs/laws.md. */
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  readonly profile: WholeWorkload
  readonly seeds: number
  /** Options that replace the options of each seed, so that fewer seeds are needed. */
  readonly options?: Partial<WholeOptions>
  /** Faults that replace the faults that the seed draws. */
  readonly faults?: readonly WholeFault[]
}
