// Driver: writes a log line for each change of the cluster that this member notices: a new leader, missing
// members, and members that joined, left or lag. This file also reports when a majority of the members is
// unreachable, and when a majority is reachable again.
//
// Laws
//   - A change is logged once. A lasting fault, such as a missing leader, is logged again every half minute,
//     so that the newest lines of the log also show the fault.
//   - This member reports a lost majority only if it has reached a majority before. So a member that starts
//     reports nothing.
//   - This file makes no decisions. The member works the same without this file.

import type { Clock, Logger, Timer } from '@latchkey/base'
import type { ElectionReason, Replica } from '@latchkey/raft'
import { AbsentMembers } from './unreachable-members-log.js'
import { whyElectionLost } from './lost-election-reason.js'
import { leaderReplyOf, whyNoLeader } from './member-status.js'

/** In ms. The first warning comes after this time without a leader. */
const FIRST_LOOK = 5_000
/** In ms. After the first warning, a lasting fault is logged again at this interval. */
const NEXT_LOOKS = 30_000
/** In entries. A member that lacks more entries than this lags. */
const LAGS = 10_000
/** In entries. A lagging member has caught up when it lacks fewer entries than this. */
const CAUGHT_UP = 100

const WHY_ELECTION: Readonly<Record<ElectionReason, string>> = {
  timeout: 'it has heard no leader for an election timeout',
  leader_ended: 'the process of the leader has ended',
  transfer: 'the leader transfers the leadership to it',
  new_cluster: 'the members of a new cluster have connected to each other',
}

type Members = ReadonlyMap<string, string>

export class ClusterLog {
  readonly #replica: Replica
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #quorum: (event: { lost: boolean }) => void
  readonly #stops: (() => void)[]
  #timer: Timer | undefined
  #leader: string | undefined
  #role: string
  #leaderlessSince: number | undefined
  #warned = false
  #members: Members | undefined
  #hasMajority: boolean | undefined
  readonly #lagging = new Set<string>()
  readonly #absent: AbsentMembers

  constructor(replica: Replica, clock: Clock, logger: Logger, quorum: (event: { lost: boolean }) => void) {
    this.#replica = replica
    this.#clock = clock
    this.#logger = logger
    this.#quorum = quorum
    const { node, transport } = replica
    this.#absent = new AbsentMembers(clock, logger, (id) => transport.connected(id))
    this.#role = node.raft.role
    const look = () => this.#look()
    this.#stops = [node.on('role', look), node.on('membership', look), transport.on('peer', look)]
    this.#look()
    this.#arm(FIRST_LOOK)
  }

  close(): void {
    this.#timer?.cancel()
    this.#absent.close()
    for (const stop of this.#stops) stop()
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.after(ms, () => this.#repeat(), { ref: false })
  }

  #look(): void {
    const { node } = this.#replica
    const reply = leaderReplyOf(this.#replica, node.applied.membership)
    this.#lookAtLeader(reply.id, node.raft.role, reply.term)
    this.#lookAtMembers(new Map(reply.members.map(([id, , role]) => [id, role ?? 'voter'])))
    this.#absent.look(reply.members.map(([id]) => id).filter((id) => id !== node.options.id))
    this.#lookAtMajority(reply.id !== undefined)
  }

  #lookAtLeader(leader: string | undefined, role: string, term: number): void {
    const [before, roleBefore] = [this.#leader, this.#role]
    this.#leader = leader
    this.#role = role
    const why = this.#replica.node.raft.electionReason
    if (role === 'candidate' && roleBefore !== 'candidate' && why !== undefined)
      this.#logger.info('this member asks for votes', { term, why: WHY_ELECTION[why] })
    if (role !== 'leader' && roleBefore === 'candidate') this.#electionLost(leader)
    if (leader === before) return
    const leaderlessMillis =
      this.#leaderlessSince === undefined ? 0 : Math.round(this.#clock.now() - this.#leaderlessSince)
    this.#leaderlessSince = leader === undefined ? this.#clock.now() : undefined
    if (leader === undefined) return this.#logger.info('no leader is known any more', { before, term })
    const message =
      leader === this.#replica.node.options.id
        ? 'this member won the election and leads'
        : 'another member leads'
    // After a warning about a missing leader, the line about the new leader is a warning too. So a reader of
    // warnings also sees the end of the fault.
    this.#logger[this.#warned ? 'warn' : 'info'](message, { leader, term, leaderlessMillis })
    this.#warned = false
  }

  #electionLost(leader: string | undefined): void {
    const { raft, options } = this.#replica.node
    const lost = raft.lostCampaign
    if (lost === undefined) return
    const { voters } = raft.membership
    const why = whyElectionLost(lost, { self: options.id, voters, leader })
    this.#logger.info('this member lost the election', { term: lost.term, why })
  }

  #lookAtMembers(members: Members): void {
    const before = this.#members
    this.#members = members
    if (before === undefined || before.size === 0) return
    for (const [id, role] of members) {
      const known = before.get(id)
      if (known === undefined) this.#logger.info('a member joined', { id, role })
      else if (known !== role) this.#logger.info('a member has another role', { id, role })
    }
    for (const id of before.keys()) if (!members.has(id)) this.#logger.info('a member left', { id })
  }

  #lookAtMajority(leaderKnown: boolean): void {
    const { voters } = this.#replica.node.raft.membership
    const self = this.#replica.node.options.id
    const missing = voters.filter((id) => id !== self && !this.#replica.transport.connected(id))
    const isReached = voters.length - missing.length > voters.length / 2
    if (isReached && leaderKnown) {
      if (this.#hasMajority === false) {
        this.#logger.warn('this member reaches a majority of the members again', { missing })
        this.#quorum({ lost: false })
      }
      this.#hasMajority = true
    } else if (!isReached && this.#hasMajority === true) {
      this.#hasMajority = false
      this.#logger.warn(
        'this member reaches no majority of the members: it can write nothing until it reaches one',
        {
          missing,
        },
      )
      this.#quorum({ lost: true })
    }
  }

  #repeat(): void {
    this.#arm(NEXT_LOOKS)
    this.#look()
    this.#lookAtLag()
    const why = whyNoLeader(this.#replica)
    if (why === undefined) return
    this.#warned = true
    const since = this.#leaderlessSince
    this.#logger.warn(
      why,
      since === undefined ? {} : { leaderlessMillis: Math.round(this.#clock.now() - since) },
    )
  }

  #lookAtLag(): void {
    const { node, transport } = this.#replica
    if (node.raft.role !== 'leader') return this.#lagging.clear()
    for (const { id, match } of node.raft.progress) {
      const entries = node.raft.lastIndex - match
      const isLagging = transport.connected(id) && entries > LAGS
      if (isLagging && !this.#lagging.has(id)) {
        this.#lagging.add(id)
        this.#logger.warn('a member lags behind', { id, entries })
      } else if (entries < CAUGHT_UP && this.#lagging.delete(id))
        this.#logger.warn('a member has caught up', { id, entries })
    }
  }
}
