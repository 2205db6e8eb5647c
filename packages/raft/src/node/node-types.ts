// Types: the options of the node, the ports that it uses, and its events.

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
import type { AppliedState, StateMachine } from './state-machine.js'

export interface NodeOptions {
  readonly id: MemberId
  readonly group: number
  readonly electionTimeout: number
  readonly heartbeat: number
  /**
   * The log is compacted when it exceeds these limits. Entries up to half of the limits stay for members that
   * lag a little.
   */
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
  /** Limits of the core. An absent limit has its default. */
  readonly limits?: Pick<RaftOptions, 'maxInflight' | 'maxAppendBytes'> | undefined
}

/**
 * Is told about each call of the core and about what the loop does with the effects. The simulator's laws
 * need this information.
 */
export interface LoopObserver {
  /** Called after a call of the core, before the effects of the call are carried out. */
  called(raft: Raft, effects: readonly Effect[]): void
  /** Before this effect is carried out. */
  effect(effect: Effect): void
  /** Called when the log has reported that this batch is durable, and before the core receives the report. */
  durable(batchId: number): void
  /**
   * Called when all effects of a call are carried out. Effects can lead to more calls. The effects of these
   * calls are carried out too by then.
   */
  settled(raft: Raft): void
}

export interface NodePorts {
  readonly clock: Clock
  readonly random: Random
  /** Runs a function when all input of this turn of the event loop has been handled. */
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
   * True if the state machine has lost its state (boot-plan.ts). Then nothing is applied until a snapshot of
   * another member is installed.
   */
  readonly rebuilding: boolean
}

export type NodeEvents = {
  role: { role: Role; term: number; leader: MemberId | undefined }
  /** The membership is committed and applied. */
  membership: Membership
  /**
   * The members to connect to, according to the configuration in force. A configuration is in force as soon
   * as its entry is appended.
   */
  peers: Membership
  applied: { index: number; time: number }
  /**
   * Emitted after each tick. Ticks come at least ten times in an election timeout, and after the messages
   * that came before the tick (N2).
   */
  ticked: undefined
  failed: LatchkeyError
}
