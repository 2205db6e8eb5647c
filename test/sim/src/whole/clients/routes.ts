// Driver: connections of clients to members. Remote clients use addresses, and check that all addresses
// belong to one cluster. Embedded clients use the member in their process.

import type { Logger } from '@latchkey/base'
import type { Route } from '@latchkey/client'
import type { HostProcess } from '@latchkey/raft/memory'
import type { ClientNetwork } from '../../../../../packages/latchkey/dist/test-cluster/client-network.js'
import type { MemberServer } from '../members/member-server.js'
import type { ProductModules } from '../product-modules.js'
import type { VirtualTime } from '../../world/virtual-time.js'
import type { NewLeaderInTime } from '../laws/new-leader-in-time.js'
import type { WholeOptions } from '../options.js'
import { observedRoute } from './observed-route.js'

interface Surroundings {
  readonly product: ProductModules
  readonly logger: Logger
  readonly options: WholeOptions
  readonly time: VirtualTime
  readonly reach: NewLeaderInTime
  readonly clientNetwork: ClientNetwork
}

export function remoteRoute(world: Surroundings, life: HostProcess, seeds: readonly string[]): Route {
  const members = new world.product.OneCluster({
    clock: life.clock,
    logger: world.logger,
    seeds,
    expected: undefined,
    dial: (url, identity) => world.clientNetwork.dialTo(life, url, identity),
  })
  return { seeds, dialTo: (url) => members.dialTo(url) }
}

export function embeddedRoute(world: Surroundings, life: HostProcess, server: MemberServer): Route {
  const route = world.product.localRoute({
    current: () => (server.member?.replica.isAsking === true ? undefined : server.member),
    failure: () => undefined,
    onGone: (run) => server.onGone(run),
    onSettled: (run) => server.onOpened(run),
  })
  // In the workload kv no operator removes members. So an embedded store must be served as long as the leader
  // can be reached.
  if (world.options.workload !== 'kv') return route
  return observedRoute(route, {
    asked: () => world.reach.asked(life, world.time.now),
    served: () => world.reach.heard(life),
  })
}
