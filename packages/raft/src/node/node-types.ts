// Types: the options, ports and events of a node.

import type { Clock, Logger, Random } from '@latchkey/base'
import type { LatchkeyError } from '@latchkey/protocol'
import type {
  Effect,
  MemberId,
  Membership,
  Message,
  Raft,
  RaftBoot,
  RaftOptions,
  Role,
} from '../core/index.js'
import type { LogPort } from './log-writer.js'
import type { AppliedState, StateMachine } from './state-machine-interface.js'

export interface NodeOptions {
  readonly id: MemberId
  readonly group: number
  readonly electionTimeout: number
  readonly heartbeat: number
  /**
   * The log is compacted when it exceeds one of these limits. The newest entries stay, up to half of each
   * limit, for members that lag a little.
   */
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
  readonly limits?: Pick<RaftOptions, 'maxInflight' | 'maxAppendBytes' | 'keptBytes'> | undefined
}

/** The simulator uses an observer to check the laws of docs/simulator.md. */
export interface LoopObserver {
  /** Called after each call of the core, before its effects are carried out. */
  called(raft: Raft, effects: readonly Effect[]): void
  effect(effect: Effect): void
  /** Called when a batch is durable, before the core learns of the batch. */
  durable(batchId: number): void
  /**
   * Called when all effects are carried out, including the effects of further calls that these effects
   * caused.
   */
  settled(raft: Raft): void
}

export interface NodePorts {
  readonly clock: Clock
  readonly random: Random
  /** Calls `run` once all input of this turn of the event loop has been handled. */
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly log: LogPort
  readonly machine: StateMachine
  readonly send: (to: MemberId, message: Message) => void
  readonly observer?: LoopObserver | undefined
}

export interface NodeBoot {
  readonly raft: RaftBoot
  readonly applied: AppliedState
  /**
   * True if the state machine has lost its data (boot-plan.ts). Then entries are applied only after a
   * snapshot from the leader is installed.
   */
  readonly rebuilding: boolean
}

export type NodeEvents = {
  role: { role: Role; term: number; leader: MemberId | undefined }
  /** Emitted when a membership is committed and applied. */
  membership: Membership
  /**
   * Emitted when the membership in force changes. A membership is in force as soon as its entry is appended.
   * This member then connects to the members of the new membership.
   */
  peers: Membership
  applied: { index: number; time: number }
  /**
   * Emitted after each tick. Ticks come at least ten times in an election timeout. A tick is handled after
   * all messages that arrived before the tick (N2).
   */
  ticked: undefined
  failed: LatchkeyError
}
