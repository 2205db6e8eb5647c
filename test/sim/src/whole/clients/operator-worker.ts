// Driver: an operator who has one member after the other drop its state and build it anew from its peers.

import type { WholeWorld } from '../world.js'
import type { Client } from './crew.js'

/** Fewer have nobody to have a state from when one more is down. */
const LEAST = 3

export async function operatorWorker(world: WholeWorld, client: Client): Promise<void> {
  const { desk, random, store } = client
  if (world.stations.length < LEAST) return
  for (;;) {
    await client.sleep(random.between(500, 4_000))
    if (desk.stopping) return
    const station = random.pick(world.stations)
    const isBuilt = () => station.member !== undefined && !station.member.replica.node.rebuilding
    world.say(`${station.id} is to be built anew`)
    await store.members.rebuild(station.id, { timeout: 2_000 }).catch((error) => desk.fault(error))
    do await client.sleep(100)
    while (!isBuilt() && !desk.stopping)
  }
}
