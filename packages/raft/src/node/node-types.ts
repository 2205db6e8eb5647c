// Types: what the loop is given, what it drives, and what it tells.

import type { Clock, Logger, Random } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type { MemberId, Membership, Message, RaftBoot, Role } from '../core/index.js'
import type { LogPort } from './log-writer.js'
import type { AppliedState, StateMachine } from './state-machine.js'

export interface NodeOptions {
  readonly id: MemberId
  readonly group: number
  readonly electionTimeout: number
  readonly heartbeat: number
  /** The log is compacted beyond these; half of it stays for members that lag a little. */
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
}

export interface NodePorts {
  readonly clock: Clock
  readonly random: Random
  /** Runs behind what the current turn of the event loop still delivers. */
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly log: LogPort
  readonly machine: StateMachine
  readonly send: (to: MemberId, message: Message) => void
}

export interface NodeBoot {
  readonly raft: RaftBoot
  readonly applied: AppliedState
  /** The machine cannot follow the log (boot-plan.ts): nothing is applied until a peer's snapshot is in. */
  readonly rebuilding: boolean
}

export type NodeEvents = {
  role: { role: Role; term: number; leader: MemberId | undefined }
  /** Committed and applied. */
  membership: Membership
  /** In force from its append on: who is talked to. */
  peers: Membership
  applied: { index: number; time: number }
  failed: LatchkeyError
}
