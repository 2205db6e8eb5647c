// Driver: an operator rebuilds one member after the other. The rebuilt member gets its state from the other
// members.

import type { WholeWorld } from '../whole-world.js'
import type { Client } from './client.js'

/** In a smaller cluster, no member can be rebuilt while another member is down. */
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
