// Types: what a fault is given to do its work.

import type { Host } from '@latchkey/raft/memory'
import type { Station } from './members/station.js'
import type { WholeWorld } from './world.js'

export interface Deed {
  readonly world: WholeWorld
  readonly who: Station
  readonly peer: Station
  readonly client: Host | undefined
  readonly millis: number
  undo(mend: () => void): void
}
