// Driver: a member of another cluster, with the id of a member of this cluster. It has its own copy of the
// product. No law observes it, because its log does not belong to this world.

import { MemoryNetwork } from '@latchkey/raft/memory'
import type { ProductModules } from '../product-modules.js'
import type { WholeWorld } from '../whole-world.js'
import { MemberServer, serverOptions } from './member-server.js'

export function foreignServer(
  world: WholeWorld,
  id: string,
  product: ProductModules,
  failed: (error: Error) => void,
): MemberServer {
  const { time, cuts, random, networkOptions, options, logger } = world
  // The foreign cluster is founded on its own network before the member starts at an address of this world.
  const apart = new MemoryNetwork(time, cuts, random.fork('apart'), networkOptions, () => false)
  return new MemberServer(id, serverOptions(options, undefined), {
    product,
    host: world.newHost(`foreign ${id}`),
    get memberNetwork() {
      return world.foreign === undefined ? apart : world.network
    },
    random: random.fork(`foreign-${id}`),
    logger,
    newId: () => world.newId(),
    judge: () => {},
    note: () => {},
    machine: () => {},
    opened: () => {},
    role: () => {},
    failed: (_, error) => failed(error),
  })
}
