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
  /** The log is compacted beyond these limits; half of them stays for members that lag a little. */
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
  /** Limits of the core. A limit that is left out has its default. */
  readonly limits?: Pick<RaftOptions, 'maxInflight' | 'maxAppendBytes'> | undefined
}

/** Sees each call of the core and what the loop does with its effects, as the simulator's laws need it. */
export interface LoopObserver {
  /** After a call of the core, before its effects are carried out. */
  called(raft: Raft, effects: readonly Effect[]): void
  /** Before this effect is carried out. */
  effect(effect: Effect): void
  /** The log says that this batch is durable; the core does not know it yet. */
  durable(batchId: number): void
  /** The effects of a call are carried out, and those of the calls to which they led. */
  settled(raft: Raft): void
}

export interface NodePorts {
  readonly clock: Clock
  readonly random: Random
  /** Runs a function after the input of the current turn of the event loop. */
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
   * The members to connect to, according to the configuration in force. A configuration is in force from
   * its append on.
   */
  peers: Membership
  applied: { index: number; time: number }
  /**
   * Emitted after each tick: at least ten times in an election timeout, and after the messages that came
   * before the tick (N2).
   */
  ticked: undefined
  failed: LatchkeyError
}
