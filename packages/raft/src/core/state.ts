// Rule: the whole state of a core as one plain object. The rules are functions of this state, one file for
// each subject. raft.ts calls them.

import type { Random } from '@latchkey/base'
import type { ClusterClock } from './cluster-time.js'
import { Disk } from './durable-before-send.js'
import { Log } from './log-in-memory.js'
import { Configurations, isVoter } from './membership.js'
import type { RaftBoot, Settings } from './options.js'
import type { Progress } from './progress.js'
import { Timers } from './election-timer-clock.js'
import type { Effect, Entry, GroupId, LogPosition, MemberId, Membership, Message, Role } from './types.js'

/**
 * Why a member asks for votes. 'timeout': the member has heard no leader for an election timeout.
 * 'leader_ended': the leader's process has ended. 'transfer': the leader transfers the leadership to the
 * member. 'new_cluster': the members of a new cluster have met. The reason is only reported and decides
 * nothing.
 */
export type ElectionReason = 'timeout' | 'leader_ended' | 'transfer' | 'new_cluster'

export interface Campaign {
  readonly why: ElectionReason
  /** 'pre' is a pre-vote: the member asks whether it would win, and does not enter the new term yet. */
  readonly kind: 'pre' | 'real'
  /** The term of this campaign. A pre-vote has the term in which the member would campaign. */
  readonly term: number
  readonly votes: Map<MemberId, boolean>
}

/** The last campaign of this member that failed. It is written to the log. */
export interface LostCampaign {
  readonly term: number
  readonly votes: ReadonlyMap<MemberId, boolean>
  /** The higher term that another member has, or undefined if this member knows of none. */
  readonly higherTerm: number | undefined
}

export interface ReadRequest {
  /** The member that asked for the read. If a caller of this member asked, it is this member's own id. */
  readonly from: MemberId
  readonly context: number
  /** The cluster time, read after the request arrived (CT5). */
  readonly time: number
}

export interface ReadRound {
  readonly round: number
  readonly index: number
  readonly requests: readonly ReadRequest[]
}

export interface Transfer {
  readonly to: MemberId
  /** When the leader gives up the transfer, on the clock of the election timers (E17). */
  readonly until: number
  told: boolean
}

/** The state that only a leader has. It is deleted when the leadership ends. */
export interface Leading {
  /** Sorted by id, so that the peers are visited in the same order each time. */
  readonly peers: Progress[]
  readonly byId: Map<MemberId, Progress>
  /**
   * For another member: the index up to which its durable log is known to agree with the leader's log. For
   * the leader itself: the last durable index of its log.
   */
  readonly matchOf: (id: MemberId) => number
  readonly roundOf: (id: MemberId) => number
  readonly clock: ClusterClock
  /**
   * The index of the leader's first entry in its term. Before that entry is committed, the leader commits
   * nothing by counting, confirms no read, and changes no membership.
   */
  readonly firstIndex: number
  heartbeatAt: number
  /** True if an acknowledgement, a sync or a configuration may have moved the commit index. */
  dirty: boolean
  uncommittedBytes: number
  /** The number of the read round that was begun last. `rounds` has the rounds that are not confirmed yet. */
  round: number
  readonly rounds: ReadRound[]
  readsWaiting: ReadRequest[]
  transfer: Transfer | undefined
  /**
   * True if the leader has asked another member to campaign in this term. That member may still campaign
   * after the leader has given up the transfer.
   */
  toldHeir: boolean
  /**
   * Every election timeout the leader notes its commit index. `recent` is the last noted index, and `older`
   * is the index that was noted before. `at` is the time of the next note. A learner must have reached
   * `older` to become a voter (M10).
   */
  readonly marks: { recent: number; older: number; at: number }
}

export interface Staging {
  readonly from: MemberId
  readonly position: LogPosition
  readonly membership: Membership
  offset: number
  /** When the last piece came, on the clock of the election timers. */
  at: number
  /**
   * True if all pieces have come and the driver installs the snapshot. No entry is given out to be applied
   * meanwhile (S3).
   */
  installing: boolean
}

/** A read that was forwarded to the leader. */
export interface ForwardedRead {
  readonly context: number
  readonly until: number
}

export class State {
  readonly options: Settings
  /** The random generator of this member. Members with the same seed still draw different timeouts (E20). */
  readonly random: Random
  readonly id: MemberId
  readonly log: Log
  readonly disk: Disk
  readonly configs: Configurations
  readonly timers: Timers
  /** The time `now` of the current call. */
  now: number

  term: number
  vote: MemberId | undefined
  role: Role = 'follower'
  leader: MemberId | undefined
  commit: number
  /** The last index that was given out to be applied. It is never beyond what is durable here. */
  handedOut: number
  applied: number
  mayVote: boolean
  /**
   * True if the state machine has lost its state. Then a snapshot is requested, no entry is given out to be
   * applied, and the leadership is passed on.
   */
  rebuilding: boolean

  campaign: Campaign | undefined
  lostCampaign: LostCampaign | undefined
  leading: Leading | undefined
  electionAt = 0
  /** The reason of the election that is due at `electionAt`. */
  electionReason: ElectionReason = 'timeout'
  /** When the leader's last message came, on the clock of the election timers. */
  leaderHeardAt = 0
  /**
   * The last term in which a closed connection showed that the leader's process had ended. In each term only
   * the first such connection counts.
   */
  goneTerm = 0
  /** The index up to which this member's log is known to agree with the log of the leader of this term. */
  matched = 0
  /**
   * True if the leader waits for an acknowledgement. The acknowledgement covers at most `matched`, and
   * carries the read round.
   */
  ackOwed = false
  ackRound = 0
  staging: Staging | undefined
  readonly forwarded = new Map<number, ForwardedRead>()
  nextContext: number

  /** The effects of this call, except those that collect-effects.ts adds before and after them. */
  out: Effect[] = []
  told: {
    role: Role
    term: number
    leader: MemberId | undefined
    configIndex: number
    configCommitted: boolean
  }
  /** The number of refused messages, and the reason of the last refusal. */
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
    // A state machine that has lost its state does not prove which entries of this log are committed.
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
   * True if the member may campaign. A voter may campaign. A member whose removal is in its log but not
   * committed may campaign too: perhaps only its log is complete enough to win, and without a leader its
   * removal would never be committed. Such a member counts votes by the new configuration, and its own vote
   * does not count.
   */
  get stands(): boolean {
    const { configs, id, commit } = this
    return this.votes || (configs.index > commit && isVoter(configs.at(commit), id))
  }

  send(message: Message): void {
    this.out.push({ type: 'send', message })
  }
}

/** Appends an entry to the log in memory and to the batch for the disk. */
export function appendEntry(state: State, entry: Entry): void {
  state.log.append(entry)
  state.disk.noteAppend(entry.index)
}
