// Driver: the clock, the event loop, the disk and the network that an embedded member uses. A test cluster
// uses a simulated clock, disk and network.

import { uptime } from 'node:os'
import { type Clock, type Defer, nextTurn, systemClock } from '@latchkey/base'
import type { ReplicaPorts } from '@latchkey/raft'
import type { Settings } from './options.js'
import { type Storage, takeStorage } from './member-storage.js'

export interface MemberWorld {
  readonly clock: Clock
  readonly nextTurn: Defer
  takeStorage(settings: Settings, clock: Clock): Promise<Storage>
  /** Undefined means real sockets. */
  readonly transport?: ReplicaPorts['transport']
}

export const realWorld = (): MemberWorld => ({ clock: systemClock(uptime), nextTurn, takeStorage })
