// Rule: a directed scenario: what is given, what happens, what must come out. Its title begins with the ids
// of docs/laws.md.

import type { RaftModules } from '../raft/modules.js'
import { attempt } from '../raft/run.js'
import type { Ending } from '../laws/broken.js'
import { Stage, type StageOptions } from './stage.js'

export interface Scenario {
  readonly title: string
  readonly stage: StageOptions
  run(stage: Stage): Promise<void>
}

export const idsOf = ({ title }: Scenario): readonly string[] =>
  title.slice(0, title.indexOf(':')).split(', ')

/** How it ended: a broken law, an error of the code, or what the script demanded. All laws watch. */
export function play(
  scenario: Scenario,
  modules: RaftModules,
  mode: { readonly outerOnly?: boolean } = {},
): Promise<Ending> {
  const stage = new Stage(modules, scenario.stage, mode)
  const { world } = stage
  return attempt(world, async () => {
    await stage.found()
    await scenario.run(stage)
    world.clients.finish()
    world.watch.finish()
  })
}
