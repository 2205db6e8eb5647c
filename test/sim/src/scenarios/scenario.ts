// Rule: a directed scenario: what is given, what happens, what must come out. Its title begins with the ids
// of docs/laws.md.

import type { CoreModule } from '../member/core-module.js'
import type { RunMode } from '../run/simulation.js'
import { Stage, type StageOptions } from './stage.js'

export interface Scenario {
  readonly title: string
  readonly stage: StageOptions
  run(stage: Stage): void
}

export const idsOf = ({ title }: Scenario): readonly string[] =>
  title.slice(0, title.indexOf(':')).split(', ')

/** Throws what went wrong: a broken law, an assertion of the code, or what the script demanded. */
export function play(scenario: Scenario, core: CoreModule, mode: RunMode = {}): Stage {
  const stage = new Stage(core, scenario.stage, mode)
  scenario.run(stage)
  stage.simulation.clients.finish()
  stage.simulation.world.watch.finish()
  return stage
}
