// Driver: the place of a member of another cluster, with the id of a member of this one. Its code is a house
// of its own, to which no law listens: what it writes into its own log is no part of this world.

import { MemoryNetwork } from '@latchkey/raft/memory'
import type { House } from '../house.js'
import type { WholeWorld } from '../world.js'
import { Station, stationOptions } from './station.js'

export function foreignStation(
  world: WholeWorld,
  id: string,
  house: House,
  failed: (error: Error) => void,
): Station {
  const { ground, cuts, random, ways, options, logger } = world
  // Its cluster is founded on a network of its own, before it stands at this world's address.
  const apart = new MemoryNetwork(ground, cuts, random.fork('apart'), ways, () => false)
  return new Station(id, stationOptions(options, undefined), {
    house,
    host: world.addHost(`foreign ${id}`),
    get wires() {
      return world.foreign === undefined ? apart : world.wires
    },
    random: random.fork(`foreign-${id}`),
    logger,
    newId: () => world.newId(),
    machine: () => {},
    opened: () => {},
    role: () => {},
    failed: (_, error) => failed(error),
  })
}
