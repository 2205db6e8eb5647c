// Rule: what the parts of a member see of it.

import type { Raft } from '@latchkey/raft/core'
import type { MemberOptions } from '../swarm/options.js'
import type { Host } from './port.js'
import type { Registers } from './registers.js'
import type { EventLog } from './journal.js'
import type { Snapshot } from './snapshot-file.js'

export interface MemberParts {
  readonly host: Host
  readonly options: MemberOptions
  readonly raft: Raft
  readonly journal: EventLog
  readonly machine: Registers
  readonly applied: number
  /** A snapshot is in use: the state is now that one. */
  installed(snapshot: Snapshot): void
}
