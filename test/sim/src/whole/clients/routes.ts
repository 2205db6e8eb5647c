// Driver: how clients reach members: remote ones by addresses, behind the product's own check that all are of
// one cluster; embedded ones through the member in their own process.

import type { Logger } from '@latchkey/base'
import type { Route } from '@latchkey/client'
import type { HostProcess } from '@latchkey/raft/memory'
import type { ClientNetwork } from '../../../../../packages/latchkey/dist/test-cluster/client-network.js'
import type { Station } from '../members/station.js'
import type { House } from '../house.js'
import type { Ground } from '../ground/ground.js'
import type { Reach } from '../judge/reach.js'
import type { WholeOptions } from '../options.js'
import { observedRoute } from './observed-route.js'

/** What of the world they need. */
interface Surroundings {
  readonly house: House
  readonly logger: Logger
  readonly options: WholeOptions
  readonly ground: Ground
  readonly reach: Reach
  readonly dials: ClientNetwork
}

export function remoteRoute(world: Surroundings, life: HostProcess, seeds: readonly string[]): Route {
  const members = new world.house.OneCluster({
    clock: life.clock,
    logger: world.logger,
    seeds,
    expected: undefined,
    dial: (url, identity) => world.dials.dialTo(life, url, identity),
  })
  return { seeds, dialTo: (url) => members.dialTo(url) }
}

export function embeddedRoute(world: Surroundings, life: HostProcess, station: Station): Route {
  const route = world.house.localRoute({
    current: () => (station.member?.replica.isAsking === true ? undefined : station.member),
    failure: () => undefined,
    onGone: (run) => station.onGone(run),
    onSettled: (run) => station.onOpened(run),
  })
  // Where faults leave the members as they are, an embedded store has to be served as far as there is a way.
  if (world.options.profile !== 'kv') return route
  return observedRoute(route, {
    asked: () => world.reach.asked(life, world.ground.now),
    served: () => world.reach.heard(life),
  })
}
