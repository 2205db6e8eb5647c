// Driver: the end of a client's process, whose connections its system closes, and the start of another one in
// its place.

import type { Host } from '@latchkey/raft/memory'
import type { WholeWorld } from '../whole-world.js'

export function killClient(world: WholeWorld, host: Host): void {
  for (const connection of world.clientNetwork.connections()) {
    if (connection.hostOf(0) === host.index) connection.end(0)
  }
  world.restartClient(host)
}
