// Driver: puts each known bug into a copy of the compiled core, and reports whether the simulator finds it.

import { UnknownExport } from '../run/changed-packages.js'
import { changedModules, type RaftModules, realModules } from '../raft/raft-modules.js'
import { run } from '../raft/run-seed.js'
import { scenarios } from '../scenarios/all.js'
import { idsOf, play } from '../scenarios/scenario.js'
import { drawOptions } from '../raft/options.js'
import { bugs } from './all.js'
import type { Bug } from './bug.js'

export interface Catch {
  readonly bug: Bug
  /** The law that the bug breaks in its directed scenario. Undefined if there is no such scenario or no such law. */
  readonly scenario: string | undefined
  /** The first seed that finds the bug. `how` is the broken law. */
  readonly seed: number | undefined
  readonly how: string | undefined
}

export interface Hunt {
  /** True if only the laws count that a client or a member can observe. */
  readonly outerOnly?: boolean
  readonly seeds?: number
}

/** Whether the simulator has found the bug by its scenario, if it has one, and by a seed, if it has seeds. */
export const isCaught = ({ bug, scenario, seed }: Catch): boolean =>
  (bug.scenario === undefined || scenario !== undefined) && (bug.seeds === 0 || seed !== undefined)

export async function hunt(bug: Bug, options: Hunt = {}): Promise<Catch> {
  const { modules, remove } = await changedModules(bug.changes)
  try {
    const scenario = bug.scenario === undefined ? undefined : await byScenario(bug.scenario, modules, options)
    return { bug, scenario, ...(await bySeed(bug, modules, options)) }
  } finally {
    remove()
  }
}

async function byScenario(
  id: string,
  modules: RaftModules,
  { outerOnly }: Hunt,
): Promise<string | undefined> {
  const chosen = scenarios.filter((scenario) => idsOf(scenario).includes(id))
  if (chosen.length === 0) throw new Error(`there is no scenario ${id}`)
  for (const scenario of chosen) {
    const { verdict, law } = await play(scenario, modules, { outerOnly: outerOnly === true })
    if (verdict !== 'pass') return law
  }
  return undefined
}

async function bySeed(
  bug: Bug,
  modules: RaftModules,
  hunting: Hunt,
): Promise<{ seed: number | undefined; how: string | undefined }> {
  const mode = { outerOnly: hunting.outerOnly === true }
  for (let seed = 1; seed <= (hunting.seeds ?? bug.seeds); seed++) {
    const options = drawOptions(seed, bug.profile)
    const { verdict, law } = await run(options, modules, mode)
    const kind = verdict === 'crash' ? 'safety' : verdict
    if (kind !== (bug.breaks ?? 'safety')) continue
    // A seed that also fails without the bug proves nothing about the bug.
    if ((await run(options, realModules, mode)).verdict !== 'pass') continue
    return { seed, how: `${verdict}: ${law}` }
  }
  return { seed: undefined, how: undefined }
}

/** Prints one line for each bug. Returns false if the simulator has missed one of the bugs. */
export async function runBugs(name: string, options: Hunt, print: (line: string) => void): Promise<boolean> {
  const chosen = bugs.filter((bug) => bug.name.includes(name) || bug.ids.includes(name))
  if (chosen.length === 0) throw new Error(`no bug is called ${name}`)
  print(row('bug', 'ids', 'scenario', 'seed', 'of', 'noticed as'))
  let missed = 0
  for (const bug of chosen) {
    try {
      const caught = await hunt(bug, options)
      if (!isCaught(caught)) missed++
      print(describe(caught))
    } catch (error) {
      if (!(error instanceof UnknownExport)) throw error
      missed++
      print(`${bug.name}: ${error.message}`)
    }
  }
  print(`${chosen.length - missed} of ${chosen.length} bugs caught`)
  return missed === 0
}

function describe(caught: Catch): string {
  const { bug, scenario, seed, how } = caught
  const directed = bug.scenario === undefined ? '' : `${bug.scenario} ${scenario ?? 'MISSED'}`
  const at = bug.seeds === 0 ? '-' : String(seed ?? 'MISSED')
  const line = row(
    bug.name,
    bug.ids.join(' '),
    directed,
    at,
    bug.seeds === 0 ? '' : String(bug.seeds),
    how ?? '',
  )
  return isCaught(caught) ? line : `${line}  <- MISSED`
}

const WIDTHS = [62, 8, 30, 6, 5, 0]

const row = (...cells: readonly string[]): string =>
  cells
    .map((cell, i) => cell.padEnd(WIDTHS[i] ?? 0))
    .join(' ')
    .trimEnd()
