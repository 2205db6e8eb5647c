// Rule: a known bug of the whole wiring: what to change in the compiled packages, and within how many seeds
// it must be noticed.

import type { Change } from '../../run/changed-packages.js'
import type { WholeFault } from '../draw-faults.js'
import type { WholeOptions, WholeWorkload } from '../options.js'

export interface WholeBug {
  readonly name: string
  /** Of docs/laws.md. */
  readonly ids: readonly string[]
  readonly changes: readonly Change[]
  readonly profile: WholeWorkload
  readonly seeds: number
  /** What all seeds of the hunt have in common, where chance alone would take too long. */
  readonly options?: Partial<WholeOptions>
  /** Instead of the faults that the seed draws. */
  readonly faults?: readonly WholeFault[]
}
