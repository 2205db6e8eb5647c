// Types: the members and machines that a fault affects, and the function that undoes the fault.

import type { Host } from '@latchkey/raft/memory'
import type { Undo } from '../world/nemesis.js'
import type { MemberServer } from './members/member-server.js'
import type { WholeWorld } from './whole-world.js'

export interface FaultTarget {
  readonly world: WholeWorld
  readonly who: MemberServer
  readonly peer: MemberServer
  readonly client: Host | undefined
  readonly millis: number
  readonly undo: Undo
}
