// Rule: the whole state of a core as one plain object. raft.ts calls the functions that read and change it.

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
 * 'timeout': the member received no message from a leader for an election timeout. 'leader_ended': the
 * leader's process has ended. 'transfer': the leader transfers the leadership to the member. 'new_cluster':
 * the members of a new cluster have connected.
 */
export type ElectionReason = 'timeout' | 'leader_ended' | 'transfer' | 'new_cluster'

interface Campaign {
  readonly why: ElectionReason
  /** 'pre' is a pre-vote: the member only asks whether it would win, and does not enter the new term yet. */
  readonly kind: 'pre' | 'real'
  /** In a pre-vote, the term that the member would enter. */
  readonly term: number
  readonly votes: Map<MemberId, boolean>
}

export interface LostCampaign {
  readonly term: number
  readonly votes: ReadonlyMap<MemberId, boolean>
  /** The higher term that ended the campaign. Undefined if the campaign ended for another reason. */
  readonly higherTerm: number | undefined
}

interface ReadRequest {
  readonly from: MemberId
  readonly context: number
  /** The leader's cluster time, read after the request arrived (CT5). */
  readonly time: number
}

interface ReadRound {
  readonly round: number
  readonly index: number
  readonly requests: readonly ReadRequest[]
}

interface Transfer {
  readonly to: MemberId
  /** When the leader gives the transfer up, in ms of the election timers' clock (E17). */
  readonly until: number
  asked: boolean
}

/** Deleted when the leadership ends. */
export interface Leading {
  /** Sorted by id, so that messages are sent in the same order in each run. */
  readonly peers: Progress[]
  readonly byId: Map<MemberId, Progress>
  readonly matchOf: (id: MemberId) => number
  readonly roundOf: (id: MemberId) => number
  readonly clock: ClusterClock
  /**
   * The index of the leader's first entry in its term. Until this entry is committed, the leader commits
   * nothing, confirms no read, and changes no membership.
   */
  readonly firstIndex: number
  heartbeatAt: number
  /** True if the commit index may have to move after an acknowledgement, a sync or a new membership. */
  dirty: boolean
  uncommittedBytes: number
  /**
   * `round` is the number of the last read round (read-index.ts). `rounds` has the rounds that a quorum has
   * not confirmed yet.
   */
  round: number
  readonly rounds: ReadRound[]
  readsWaiting: ReadRequest[]
  transfer: Transfer | undefined
  /**
   * True if this leader, in its present term, has asked another member to campaign immediately. The value
   * stays true after the transfer was given up, because the asked member may get the request late.
   */
  targetAsked: boolean
  /**
   * The leader notes its commit index at the time `at`, and again after each election timeout. `recent` is
   * the last noted index, and `older` is the index noted before `recent`. A learner must have all entries up
   * to `older` to become a voter (M10).
   */
  readonly commitSamples: { recent: number; older: number; at: number }
}

interface Staging {
  readonly from: MemberId
  readonly position: LogPosition
  readonly membership: Membership
  offset: number
  /** In ms of the election timers' clock. */
  at: number
  installing: boolean
}

interface ForwardedRead {
  readonly context: number
  readonly until: number
}

export class State {
  readonly options: Settings
  /**
   * Made from the generator of the options and the member's id. So members with equal seeds draw different
   * timeouts (E20).
   */
  readonly random: Random
  readonly id: MemberId
  readonly log: Log
  readonly disk: Disk
  readonly configs: Configurations
  readonly timers: Timers
  now: number

  term: number
  vote: MemberId | undefined
  role: Role = 'follower'
  leader: MemberId | undefined
  commit: number
  /** The last index that was given out to be applied. The entry is committed, and durable on this member. */
  handedOut: number
  applied: number
  /** The disks of all members have the entries up to this index (entries-stored-by-all.ts). */
  storedByAll = 0
  mayVote: boolean
  /**
   * True if the state machine has lost its data. Then this member asks for a snapshot, applies no entry, and
   * does not keep the leadership.
   */
  rebuilding: boolean

  campaign: Campaign | undefined
  lostCampaign: LostCampaign | undefined
  leading: Leading | undefined
  electionAt = 0
  electionReason: ElectionReason = 'timeout'
  /** In ms of the election timers' clock. */
  leaderMessageAt = 0
  /**
   * The last term in which this member noticed that the leader's process had ended. Only the first notice in
   * a term shortens the wait for an election.
   */
  goneTerm = 0
  /** The index up to which this member's log is known to agree with the leader's log of this term. */
  matched = 0
  /** True if this member must send an acknowledgement, up to `matched` at most. */
  ackOwed = false
  ackRound = 0
  staging: Staging | undefined
  readonly forwarded = new Map<number, ForwardedRead>()
  nextContext: number

  out: Effect[] = []
  /**
   * The content of the last role effect and the last membership effect. If the state differs from this
   * content at the end of a call, the call returns a new effect.
   */
  reported: {
    role: Role
    term: number
    leader: MemberId | undefined
    configIndex: number
    configCommitted: boolean
  }
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
    // If the state machine has lost its data, nothing is applied. The three indexes then begin at the start
    // of the log, because the entries up to the start are certainly committed.
    this.applied = this.rebuilding ? boot.start.index : boot.applied
    this.commit = this.applied
    this.handedOut = this.applied
    this.mayVote = boot.mayVote ?? true
    this.nextContext = 1 + this.random.next() * 2 ** 19
    this.reported = {
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
   * True if the member may campaign: it is a voter, or its removal is in its log and not committed. A member
   * that is being removed may campaign, because perhaps only its log is complete enough to win. This
   * candidate counts votes by the new membership, without its own vote.
   */
  get stands(): boolean {
    const { configs, id, commit } = this
    return this.votes || (configs.index > commit && isVoter(configs.at(commit), id))
  }

  send(message: Message): void {
    this.out.push({ type: 'send', message })
  }
}

export function appendEntry(state: State, entry: Entry): void {
  state.log.append(entry)
  state.disk.noteAppend(entry.index)
}

/** Removes the entries up to `index` from the log in memory. */
export function removeEntries({ log, configs }: State, index: number): void {
  log.compact(index)
  configs.compact(log.start.index)
}
