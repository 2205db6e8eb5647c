// Rule: everything a core knows, as one plain state. Each concern's rules are a file of functions over it; raft.ts dispatches.

import type { Random } from '@latchkey/base'
import type { ClusterClock } from './cluster-time.js'
import { Disk } from './durable-before-send.js'
import { Log } from './log.js'
import { Configurations, isVoter } from './membership.js'
import type { RaftBoot, Settings } from './options.js'
import type { Progress } from './progress.js'
import { Timers } from './stall-clock.js'
import type { Effect, Entry, GroupId, LogPosition, MemberId, Membership, Message, Role } from './types.js'

export interface Campaign {
  /** pre: asks whether it would win; the term is not taken yet. */
  readonly kind: 'pre' | 'real'
  /** The term that would be, or is, campaigned in. */
  readonly term: number
  readonly votes: Map<MemberId, boolean>
}

export interface ReadRequest {
  /** Who asked; the core itself for its own callers. */
  readonly from: MemberId
  readonly context: number
  /** CT5: cluster time, read after the request arrived. */
  readonly time: number
}

export interface ReadRound {
  readonly round: number
  readonly index: number
  readonly requests: readonly ReadRequest[]
}

export interface Transfer {
  readonly to: MemberId
  /** Timer time at which it is given up (E17). */
  readonly until: number
  told: boolean
}

/** What only a leader has; gone with its leadership. */
export interface Leading {
  /** In order of id, so that all are visited in the same order each time. */
  readonly peers: Progress[]
  readonly byId: Map<MemberId, Progress>
  /** How far a member's durable log is known to agree with the leader's; of the leader itself, how far it is durable. */
  readonly matchOf: (id: MemberId) => number
  readonly roundOf: (id: MemberId) => number
  readonly clock: ClusterClock
  /** Its first entry; nothing is committed by counting, read or reconfigured before this one is committed. */
  readonly firstIndex: number
  heartbeatAt: number
  /** An acknowledgement, a sync or a configuration may have moved the quorum. */
  dirty: boolean
  uncommittedBytes: number
  /** The last read round that was begun, and the ones not confirmed yet. */
  round: number
  readonly rounds: ReadRound[]
  readsWaiting: ReadRequest[]
  transfer: Transfer | undefined
  /** Some member was told to campaign in this term: it may do so at any time, also when the transfer was given up. */
  toldHeir: boolean
  /** What was committed one and two election timeouts ago: how far a learner must have come (M10). */
  readonly marks: { recent: number; older: number; at: number }
}

export interface Staging {
  readonly from: MemberId
  readonly position: LogPosition
  readonly membership: Membership
  offset: number
  /** Timer time of the last piece. */
  at: number
  /** All is here; the driver is building it. Nothing is handed out to apply meanwhile (S3). */
  installing: boolean
}

/** A read that was forwarded to the leader. */
export interface ForwardedRead {
  readonly context: number
  readonly until: number
}

export class State {
  readonly options: Settings
  /** Of this member alone: members that were all given the same seed still draw differently (E20). */
  readonly random: Random
  readonly id: MemberId
  readonly log: Log
  readonly disk: Disk
  readonly configs: Configurations
  readonly timers: Timers
  /** `now` of the call that is under way. */
  now: number

  term: number
  vote: MemberId | undefined
  role: Role = 'follower'
  leader: MemberId | undefined
  commit: number
  /** Given out to apply; not beyond what is durable here. */
  handedOut: number
  applied: number
  mayVote: boolean
  /** The state machine's state is gone: a snapshot is asked for, nothing is handed out, and the lead is passed on. */
  rebuilding: boolean

  campaign: Campaign | undefined
  leading: Leading | undefined
  electionAt = 0
  /** Timer time of the last word of the leader. */
  leaderHeardAt = 0
  /** The last term whose leader's end was seen from its connection: counts once a term. */
  goneTerm = 0
  /** The own log is known to agree with this term's leader's up to here. */
  matched = 0
  /** The leader is owed an acknowledgement, of at most `matched`, and of this read round. */
  ackOwed = false
  ackRound = 0
  staging: Staging | undefined
  readonly forwarded = new Map<number, ForwardedRead>()
  nextContext: number

  /** Effects of this call but for those that `finish` puts before and behind them. */
  out: Effect[] = []
  told: {
    role: Role
    term: number
    leader: MemberId | undefined
    configIndex: number
    configCommitted: boolean
  }
  /** Messages that were refused at the door, and why the last one was. */
  readonly refused = { count: 0, last: '' }

  constructor(options: Settings, boot: RaftBoot, now: number) {
    this.options = options
    this.random = options.random.fork(options.id)
    this.id = options.id
    this.now = now
    this.timers = new Timers(options, now)
    this.log = new Log(boot.start, boot.entries)
    this.disk = new Disk(this.log.lastIndex)
    this.configs = new Configurations(boot.start.index, boot.membership)
    this.term = boot.hardState.term
    this.vote = boot.hardState.vote
    this.rebuilding = boot.rebuild === true || boot.applied < boot.start.index
    // A state machine that does not belong to this log says nothing about what of it is committed.
    this.applied = this.rebuilding ? boot.start.index : boot.applied
    this.commit = this.applied
    this.handedOut = this.applied
    this.mayVote = boot.mayVote ?? true
    this.nextContext = 1 + this.random.next() * 2 ** 19
    this.told = {
      role: this.role,
      term: this.term,
      leader: undefined,
      configIndex: boot.start.index,
      configCommitted: true,
    }
  }

  get group(): GroupId {
    return this.options.group
  }

  get clock(): number {
    return this.timers.clock
  }

  get membership(): Membership {
    return this.configs.current
  }

  get votes(): boolean {
    return isVoter(this.configs.current, this.id)
  }

  /**
   * May ask for votes: a voter, or one whose removal is in its log and not committed. Without that one the removal might
   * never be: it may hold the only log that can win. It counts by the new configuration, so itself not at all.
   */
  get stands(): boolean {
    const { configs, id, commit } = this
    return this.votes || (configs.index > commit && isVoter(configs.at(commit), id))
  }

  send(message: Message): void {
    this.out.push({ type: 'send', message })
  }
}

/** Appends to the log in memory and notes it for the disk. */
export function appendEntry(state: State, entry: Entry): void {
  state.log.append(entry)
  state.disk.noteAppend(entry.index)
}
