// Driver: puts each known bug into a copy of the compiled packages, and reports whether the simulator finds it.

import type { WorldMode } from '../world/world.js'
import { UnknownExport } from './changed-packages.js'
import type { KnownBug } from './known-bug.js'
import type { LoadedProfile, Profile } from './profile.js'

export interface Catch {
  readonly bug: KnownBug
  /** The law that the bug breaks in its directed scenario. Undefined without a scenario or a broken law. */
  readonly scenario: string | undefined
  /** The first seed that finds the bug. `how` is the broken law. */
  readonly seed: number | undefined
  readonly how: string | undefined
}

/** True if the scenario of the bug, if there is one, and a seed, if seeds are allowed, have found the bug. */
export const isCaught = ({ bug, scenario, seed }: Catch): boolean =>
  (bug.scenario === undefined || scenario !== undefined) && (bug.seeds === 0 || seed !== undefined)

/** `sound` is the profile without changes. */
export async function hunt(
  bug: KnownBug,
  profile: Profile,
  sound: LoadedProfile,
  mode: WorldMode = {},
): Promise<Catch> {
  const broken = await profile.load(bug.changes)
  try {
    const scenario = bug.scenario === undefined ? undefined : await broken.play?.(bug.scenario, mode)
    const faults = bug.faults?.map((fault, number) => ({ number, ...fault }))
    for (let seed = 1; seed <= bug.seeds; seed++) {
      const options = { ...profile.draw(seed, bug.workload), ...bug.options }
      const { verdict, law } = await broken.run(options, { ...mode, faults })
      const kind = verdict === 'crash' ? 'safety' : verdict
      if (kind !== (bug.breaks ?? 'safety')) continue
      // A seed that also fails without the bug proves nothing about the bug.
      if ((await sound.run(options, { ...mode, faults })).verdict !== 'pass') continue
      return { bug, scenario, seed, how: `${verdict}: ${law}` }
    }
    return { bug, scenario, seed: undefined, how: undefined }
  } finally {
    broken.remove()
  }
}

/** Tries the bugs whose name or id contains the text. Returns false if the simulator has missed one. */
export async function runBugs(
  profile: Profile,
  name: string,
  mode: WorldMode,
  print: (line: string) => void,
): Promise<boolean> {
  const chosen = profile.bugs.filter((bug) => bug.name.includes(name) || bug.ids.includes(name))
  if (chosen.length === 0) {
    print(`no bug is called ${name}`)
    return false
  }
  print(row('bug', 'ids', 'workload', 'seed', 'of', 'seconds', 'noticed as'))
  const sound = await profile.load()
  let missed = 0
  try {
    for (const bug of chosen) if (!(await report(bug, profile, sound, mode, print))) missed++
  } finally {
    sound.remove()
  }
  print(`${chosen.length - missed} of ${chosen.length} bugs caught`)
  return missed === 0
}

async function report(
  bug: KnownBug,
  profile: Profile,
  sound: LoadedProfile,
  mode: WorldMode,
  print: (line: string) => void,
): Promise<boolean> {
  const began = process.hrtime.bigint()
  try {
    const caught = await hunt(bug, profile, sound, mode)
    print(describe(caught, Number(process.hrtime.bigint() - began) / 1e9))
    return isCaught(caught)
  } catch (error) {
    if (!(error instanceof UnknownExport)) throw error
    print(`${bug.name}: ${error.message}`)
    return false
  }
}

function describe(caught: Catch, seconds: number): string {
  const { bug, scenario, seed, how } = caught
  const directed = bug.scenario === undefined ? [] : [`${bug.scenario} ${scenario ?? 'MISSED'}`]
  const line = row(
    bug.name,
    bug.ids.join(' '),
    bug.workload ?? '',
    bug.seeds === 0 ? '-' : String(seed ?? 'MISSED'),
    bug.seeds === 0 ? '' : String(bug.seeds),
    seconds.toFixed(1),
    [...directed, ...(how === undefined ? [] : [how])].join(', '),
  )
  return isCaught(caught) ? line : `${line}  <- MISSED`
}

const WIDTHS = [72, 8, 10, 6, 5, 7, 0]

const row = (...cells: readonly string[]): string =>
  cells
    .map((cell, i) => cell.padEnd(WIDTHS[i] ?? 0))
    .join(' ')
    .trimEnd()
