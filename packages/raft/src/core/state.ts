// Rule: the whole state of a core as one plain object. The rules are functions over this state, one file for
// each subject; raft.ts calls them.

import type { Random } from '@latchkey/base'
import type { ClusterClock } from './cluster-time.js'
import { Disk } from './durable-before-send.js'
import { Log } from './log.js'
import { Configurations, isVoter } from './membership.js'
import type { RaftBoot, Settings } from './options.js'
import type { Progress } from './progress.js'
import { Timers } from './stall-clock.js'
import type { Effect, Entry, GroupId, LogPosition, MemberId, Membership, Message, Role } from './types.js'

/**
 * Why a member asks for votes: it heard no leader for an election timeout; the leader's process has ended; the
 * leader hands over to it; or the members of a new cluster have met. Nothing is decided by it.
 */
export type ElectionReason = 'timeout' | 'leader_ended' | 'transfer' | 'new_cluster'

export interface Campaign {
  readonly why: ElectionReason
  /** 'pre' is a pre-vote, which asks whether this member would win; it does not enter the new term yet. */
  readonly kind: 'pre' | 'real'
  /** The term of this campaign; for a pre-vote the term in which the member would campaign. */
  readonly term: number
  readonly votes: Map<MemberId, boolean>
}

/** The last campaign of this member that failed, for its log. */
export interface LostCampaign {
  readonly term: number
  readonly votes: ReadonlyMap<MemberId, boolean>
  /** Another member had entered that term meanwhile; undefined: this member heard of none. */
  readonly higherTerm: number | undefined
}

export interface ReadRequest {
  /** The member that asked; this member's own id for its own callers. */
  readonly from: MemberId
  readonly context: number
  /** Cluster time, read after the request arrived (CT5). */
  readonly time: number
}

export interface ReadRound {
  readonly round: number
  readonly index: number
  readonly requests: readonly ReadRequest[]
}

export interface Transfer {
  readonly to: MemberId
  /** Timer time at which the transfer is given up (E17). */
  readonly until: number
  told: boolean
}

/** The state that only a leader has. It is deleted when the leadership ends. */
export interface Leading {
  /** Sorted by id, so that all peers are visited in the same order each time. */
  readonly peers: Progress[]
  readonly byId: Map<MemberId, Progress>
  /**
   * For another member: how far its durable log is known to agree with the leader's. For the leader itself:
   * how far its log is durable.
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
  /** True when an acknowledgement, a sync or a configuration may have moved the commit index. */
  dirty: boolean
  uncommittedBytes: number
  /** The number of the last read round that was begun. The rounds that are not confirmed yet follow. */
  round: number
  readonly rounds: ReadRound[]
  readsWaiting: ReadRequest[]
  transfer: Transfer | undefined
  /**
   * True when some member was asked to campaign in this term. It may still campaign after the transfer was
   * given up.
   */
  toldHeir: boolean
  /**
   * The commit index of one and of two election timeouts ago: a learner must have reached it to become a
   * voter (M10).
   */
  readonly marks: { recent: number; older: number; at: number }
}

export interface Staging {
  readonly from: MemberId
  readonly position: LogPosition
  readonly membership: Membership
  offset: number
  /** Timer time of the last piece. */
  at: number
  /**
   * True when all pieces are here and the driver installs the snapshot. No entry is handed out to apply
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
  /**
   * A generator of this member alone: members that were given the same seed still draw different timeouts
   * (E20).
   */
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
  /** The last index that was handed out to apply; never beyond what is durable here. */
  handedOut: number
  applied: number
  mayVote: boolean
  /**
   * True when the state machine's state is lost: a snapshot is requested, no entry is handed out, and the
   * leadership is passed on.
   */
  rebuilding: boolean

  campaign: Campaign | undefined
  lostCampaign: LostCampaign | undefined
  leading: Leading | undefined
  electionAt = 0
  /** Why there will be an election at that time. */
  electionReason: ElectionReason = 'timeout'
  /** Timer time of the leader's last message. */
  leaderHeardAt = 0
  /**
   * The last term in which a closed connection showed the end of the leader's process. This counts once in a
   * term.
   */
  goneTerm = 0
  /** The own log is known to agree with the log of this term's leader up to this index. */
  matched = 0
  /**
   * True when the leader waits for an acknowledgement; it covers at most `matched`, and carries the read
   * round.
   */
  ackOwed = false
  ackRound = 0
  staging: Staging | undefined
  readonly forwarded = new Map<number, ForwardedRead>()
  nextContext: number

  /** The effects of this call, except those that end-of-call.ts adds before and after them. */
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
    // A state machine that has lost its state proves nothing about what is committed in this log.
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
   * True for a member that may campaign: a voter, or a member whose removal is in its log and not committed.
   * Such a member may hold the only log that can win, so without it the removal might never be committed. It
   * counts votes by the new configuration, in which it has no vote itself.
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
