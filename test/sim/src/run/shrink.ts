// Rule: makes a failing run smaller: fewer faults and simpler options, with the same failure.

import type { SeedOptions, Setting } from './profile.js'
import type { NumberedFault } from './run-seed.js'

export interface Failing {
  readonly options: SeedOptions
  readonly faults: readonly NumberedFault[]
}

export type StillFails = (candidate: Failing) => Promise<boolean>

export interface Shrunk extends Failing {
  readonly runs: number
  /** The settings that differ from the settings of the seed, for the command that repeats the run. */
  readonly settings: readonly Setting[]
}

export async function shrink(
  failing: Failing,
  simpler: readonly Setting[],
  stillFails: StillFails,
  maxRuns = 300,
): Promise<Shrunk> {
  let runs = 0
  const test: StillFails = async (candidate) => runs++ < maxRuns && (await stillFails(candidate))
  let { options } = failing
  let faults = await fewer(failing.faults, (some) => test({ options, faults: some }))
  const settings: Setting[] = []
  for (const setting of simpler) {
    const candidate = setOption(options, setting)
    if (JSON.stringify(candidate) === JSON.stringify(options)) continue
    if (!(await test({ options: candidate, faults }))) continue
    options = candidate
    settings.push(setting)
  }
  faults = await fewer(faults, (some) => test({ options, faults: some }))
  return { options, faults, runs, settings }
}

/** Delta debugging: leaves out smaller and smaller parts of the list. */
export async function fewer<T>(
  items: readonly T[],
  fails: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = items
  for (let size = Math.ceil(kept.length / 2); size >= 1 && kept.length > 0; ) {
    let removed = false
    for (let at = 0; at < kept.length; ) {
      const without = [...kept.slice(0, at), ...kept.slice(at + size)]
      if (await fails(without)) {
        kept = without
        removed = true
      } else at += size
    }
    if (size > 1) size = Math.ceil(size / 2)
    else if (!removed) break
  }
  return kept
}

/**
 * Returns a copy of the options with another value at `path`. An unknown path is an error, because a
 * misspelled path would look like a run that passes.
 */
export function setOption<Options extends SeedOptions>(options: Options, [path, value]: Setting): Options {
  const copy = structuredClone(options) as unknown as Record<string, unknown>
  const names = path.split('.')
  const last = names.pop() as string
  let at = copy
  for (const name of names) at = at[name] as Record<string, unknown>
  if (at === undefined || at === null || !(last in at)) throw new TypeError(`there is no option ${path}`)
  at[last] = value
  return copy as unknown as Options
}
