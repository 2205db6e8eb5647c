// Rule: a directed scenario: its start, its steps, and the results that it demands. Its title begins with ids
// of docs/laws.md.

import type { RaftModules } from '../raft/raft-modules.js'
import { attempt } from '../run/run-seed.js'
import type { Ending } from '../laws/verdict.js'
import { ScenarioCluster, type ClusterOptions } from './scenario-cluster.js'

export interface Scenario {
  readonly title: string
  readonly cluster: ClusterOptions
  run(cluster: ScenarioCluster): Promise<void>
}

export const idsOf = ({ title }: Scenario): readonly string[] =>
  title.slice(0, title.indexOf(':')).split(', ')

/**
 * Returns whether the scenario passed, a law was broken, the code threw an error, or a demanded result was
 * missing.
 */
export function play(
  scenario: Scenario,
  modules: RaftModules,
  mode: { readonly outerOnly?: boolean } = {},
): Promise<Ending> {
  const cluster = new ScenarioCluster(modules, scenario.cluster, mode)
  const { world } = cluster
  return attempt(world, async () => {
    await cluster.found()
    await scenario.run(cluster)
    world.clients.finish()
    world.laws.finish()
  })
}
