// Driver: an operator who has one member after the other drop its state and build it anew from its peers.

import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

/** Fewer have nobody to have a state from when one more is down. */
const LEAST = 3

export async function operatorWorker(world: WholeWorld, client: Client): Promise<void> {
  const { records, random, store } = client
  if (world.members.length < LEAST) return
  for (;;) {
    await client.sleep(random.between(500, 4_000))
    if (records.stopping) return
    const server = random.pick(world.members)
    const isBuilt = () => server.member !== undefined && !server.member.replica.node.rebuilding
    world.note(() => `${server.id} is to be built anew`)
    await store.members.rebuild(server.id, { timeout: 2_000 }).catch((error) => records.fault(error))
    do await client.sleep(100)
    while (!isBuilt() && !records.stopping)
  }
}
