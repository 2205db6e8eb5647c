// Driver: what the real world gives an embedded member: clocks, turns of the event loop, a disk and sockets. A test cluster gives others.

import { uptime } from 'node:os'
import { type Clock, type Defer, nextTurn, systemClock } from '@latchkey/base'
import type { ReplicaPorts } from '@latchkey/raft'
import type { Settings } from './options.js'
import { type Storage, takeStorage } from './storage.js'

export interface MemberWorld {
  readonly clock: Clock
  readonly nextTurn: Defer
  takeStorage(settings: Settings, clock: Clock): Promise<Storage>
  /** The way to the other members; left out: sockets. */
  readonly transport?: ReplicaPorts['transport']
}

export const realWorld = (): MemberWorld => ({ clock: systemClock(uptime), nextTurn, takeStorage })
