// Driver: ends the process of a client, whose connections the system closes, and starts another process in
// its place.

import type { Host } from '@latchkey/raft/memory'
import type { WholeWorld } from '../whole-world.js'

export function killClient(world: WholeWorld, host: Host): void {
  for (const connection of world.clientNetwork.connections()) {
    if (connection.hostOf(0) === host.index) connection.end(0)
  }
  world.restartClient(host)
}
