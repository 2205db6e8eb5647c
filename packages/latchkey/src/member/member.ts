// Driver: one member: its Raft replica with the key-value state, its client connections, and its messages to
// other members. The member uses clocks, disks and networks only through the objects that it is given, so the
// simulator runs this code too, with simulated clocks, disks and networks.

import { type Clock, Emitter, type Logger, type Random } from '@latchkey/base'
import {
  type DiskUse,
  LatchkeyError,
  type LinkReply,
  type Metric,
  type OwnerResult,
  type PartyResult,
  type PartyTicket,
  type Status,
} from '@latchkey/protocol'
import {
  type DirectoryNote,
  type MemberId,
  membersOf,
  Replica,
  type ReplicaOptions,
  type ReplicaPorts,
} from '@latchkey/raft'
import type { FileSystem } from '@latchkey/raft/wal'
import type { KvStore, StateHash } from '@latchkey/kv'
import { Admin } from './admin-calls.js'
import { OwnMembership, removed } from './own-membership.js'
import { ConnectionTimes } from './connected-since.js'
import { type MemberMessage, decodeMemberMessage, encodeMemberMessage } from './non-raft-member-messages.js'
import { MemberChanges } from './membership-changes.js'
import { type CallCounters, type CallSource, newCallCounters } from './call-counters.js'
import { CommandQueue } from './fair-command-queue.js'
import { Forwarder } from './forwarded-requests.js'
import { LeaderlessTime } from './leaderless-time.js'
import { MemberLinks } from './store-links-between-members.js'
import type { RequestTracer } from './request-tracer.js'
import { RequestsOfMembers } from './requests-from-other-members.js'
import type { Identity } from './identity-and-rights.js'
import { ReadTurns } from './read-answer-bytes-per-turn.js'
import type { ClientConnection } from './client-connection.js'
import { ClientConnections } from './client-connections.js'
import { knowsMembers, StateComparison } from './state-comparison-of-members.js'
import { memberCounters } from './metrics-from-counters.js'
import { memberFigures } from './member-metric-values.js'
import { statusOf } from './member-status.js'

/**
 * In election timeouts. After this time without a leader, a member believes other members that report its
 * removal.
 */
const LEADERLESS_TIMEOUTS = 4

interface MemberPorts {
  readonly fs: FileSystem
  readonly dir: string
  readonly version: string
  readonly clock: Clock
  readonly random: Random
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly transport: ReplicaPorts['transport']
  readonly newId: () => string
  readonly note?: DirectoryNote | undefined
  readonly observer?: ReplicaPorts['observer']
  /**
   * Called when each unknown member (data-directory-in-wrong-cluster.ts) has named its cluster or was silent
   * for too long. From then on, this member may serve clients.
   */
  readonly asked?: (() => void) | undefined
  /** Why no member may be added. Undefined if connections between members are authenticated. */
  readonly whyNoMembers?: (() => string | undefined) | undefined
  /** Undefined if requests are not traced. */
  readonly tracer?: RequestTracer | undefined
  /** Undefined if the member keeps its state only in memory. */
  readonly diskUse?: (() => Promise<DiskUse>) | undefined
  /** Deletes this member's state and opens the member again, both after the call has returned. */
  rebuild(): void
  machine(hooks: {
    granted(session: number, key: Uint8Array, owner: OwnerResult): void
    ended(session: number, ticket: PartyTicket, result: PartyResult): void
    failed(error: LatchkeyError): void
    onStateHash(hash: StateHash): Promise<unknown> | undefined
  }): KvStore
}

type MemberEvents = {
  failed: LatchkeyError
  /** True: the cluster has removed this member. False: the cluster has added this member again. */
  removed: boolean
  /** True: contact with the leader was lost. False: contact is back (contact-with-leader.ts). */
  cutOff: boolean
}

export class Member extends Emitter<MemberEvents> {
  readonly replica: Replica
  readonly kv: KvStore
  readonly #ports: MemberPorts
  readonly #peerTimes: ConnectionTimes
  readonly #calls: CallCounters
  readonly #commands: CommandQueue
  readonly #forwarder: Forwarder
  readonly #admin: Admin
  readonly #clients: ClientConnections
  readonly #states: StateComparison
  readonly #ownMembership: OwnMembership
  readonly #leaderlessTime: LeaderlessTime
  readonly links: MemberLinks
  readonly #requestsOfMembers: RequestsOfMembers

  static async open(options: ReplicaOptions, ports: MemberPorts): Promise<Member> {
    let member: Member | undefined
    const kv = ports.machine({
      granted: (session, key, owner) => member?.push(session, key, owner),
      ended: (session, ticket, result) => member?.tellEnd(session, ticket, result),
      failed: (error) => member?.replica.node.fail('the state', error),
      onStateHash: (hash) => member?.onStateHash(hash),
    })
    const forwarder = new Forwarder({
      clock: ports.clock,
      random: ports.random.fork('forwarder'),
      send: (to, frame) => member?.replica.transport.sendApp(to, frame) ?? false,
    })
    const replica = await Replica.open(options, {
      ...ports,
      machine: kv,
      app: (from, bytes) => member?.receive(from, bytes),
      gone: (id) => {
        forwarder.lost(id)
        member?.links.gone(id)
        member?.reachesOthers()
      },
      met: () => member?.reachesOthers(),
      asked: () => ports.asked?.(),
    })
    member = new Member(replica, kv, forwarder, ports)
    return member
  }

  constructor(replica: Replica, kv: KvStore, forwarder: Forwarder, ports: MemberPorts) {
    super()
    this.replica = replica
    this.kv = kv
    this.#calls = newCallCounters(ports.clock)
    const { maxInFlightBytes: mostBytes } = replica.node.options
    this.#commands = new CommandQueue({ node: replica.node, kv, mostBytes })
    this.#ports = ports
    this.#peerTimes = new ConnectionTimes(ports.clock, replica.transport)
    this.#forwarder = forwarder
    const { node } = replica
    this.#admin = this.#makeAdmin()
    this.#clients = new ClientConnections(replica, {
      node,
      kv,
      forwarder,
      admin: this.#admin,
      turns: new ReadTurns(ports.clock),
      commands: this.#commands,
      calls: this.#calls,
      tracer: ports.tracer,
    })
    node.on('role', ({ leader }) => {
      if (leader !== undefined) this.#leads(leader)
      this.#clients.tellLeader()
    })
    this.#states = new StateComparison({
      id: this.id,
      node,
      kv,
      clock: ports.clock,
      random: ports.random.fork('state-search'),
      logger: ports.logger,
      send: (to, message) => this.#answer(to, message),
    })
    this.#ownMembership = new OwnMembership({
      id: this.id,
      clock: ports.clock,
      grace: node.options.electionTimeout,
      tell: (removed) => this.emit('removed', removed),
    })
    this.#ownMembership.look(node.applied.membership)
    this.#requestsOfMembers = this.#makeRequestsOfMembers()
    this.links = this.#makeMemberLinks()
    this.#leaderlessTime = this.#makeInquiry()
    node.on('membership', (membership) => {
      this.#ownMembership.look(membership)
      this.#clients.tellLeader()
    })
    node.on('ticked', () => this.links.look())
    node.on('failed', (error) => {
      this.links.close(error)
      this.emit('failed', error)
    })
  }

  #makeAdmin(): Admin {
    const [ports, replica, { node }] = [this.#ports, this.replica, this.replica]
    return new Admin({
      node,
      kv: this.kv,
      forwarder: this.#forwarder,
      changes: new MemberChanges(node, ports.clock),
      status: () => this.status(),
      figures: () => memberFigures(this),
      counters: (status) => this.counters(status),
      diskUse: async () => ports.diskUse?.(),
      ready: () => this.ready(),
      handOver: (to) => replica.handOver(node.options.electionTimeout * 2, to),
      rebuild: async () => this.#rebuild(),
      whyNoMembers: () => ports.whyNoMembers?.(),
    })
  }

  #makeRequestsOfMembers(): RequestsOfMembers {
    const { node } = this.replica
    const answer = (to: MemberId, message: MemberMessage) => this.#answer(to, message)
    const { kv } = this
    const { tracer } = this.#ports
    return new RequestsOfMembers({ node, kv, commands: this.#commands, admin: this.#admin, tracer, answer })
  }

  #makeMemberLinks(): MemberLinks {
    return new MemberLinks({
      replica: this.replica,
      random: this.#ports.random,
      defer: this.#ports.defer,
      send: (to, message) => this.#answer(to, message),
      serves: () => !this.isLeft && !this.isOutside && !this.replica.isAsking,
      clientConnection: (tell, identity) => this.clientConnection(tell, identity, 'member'),
      cutOff: (isCutOff) => this.emit('cutOff', isCutOff),
    })
  }

  #leads(leader: MemberId): void {
    this.links.leads(leader)
    this.#forwarder.leads(leader)
    this.#ownMembership.led()
  }

  #makeInquiry(): LeaderlessTime {
    const { node } = this.replica
    return new LeaderlessTime({
      clock: this.#ports.clock,
      patience: node.options.electionTimeout * LEADERLESS_TIMEOUTS,
      isCalm: () =>
        node.raft.leader !== undefined || node.failure !== undefined || this.isLeft || !knowsMembers(node),
      missedBy: () => this.replica.missedBy,
      tell: (by) => {
        this.#ports.logger.warn(removed(this.id), { id: this.id, told: by })
        this.#ownMembership.reportedByOthers()
      },
    })
  }

  get id(): MemberId {
    return this.replica.node.options.id
  }

  /** True if the member was removed and has sent its last answers (own-membership.ts). */
  get isLeft(): boolean {
    return this.#ownMembership.isOver
  }

  get isOutside(): boolean {
    const members = membersOf(this.replica.node.applied.membership)
    return members.length > 0 && !members.includes(this.id)
  }

  status(): Status {
    const { clock, version } = this.#ports
    return statusOf(this.replica, this.isLeft ? removed(this.id) : undefined, this.#peerTimes, {
      version,
      uptimeMillis: this.#peerTimes.uptimeMillis,
      dateMillis: clock.instant().wall,
    })
  }

  counters(status: Status): Metric[] {
    const [calls, queued] = [this.#calls, this.#commands.waiting]
    return memberCounters({
      replica: this.replica,
      kv: this.kv,
      calls,
      queued,
      status,
      node: process.version,
    })
  }

  /** Resolves after a linearizable read. All entries that were committed before the call are then applied. */
  ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.replica.node.read((outcome) =>
        outcome.ok ? resolve() : reject(new LatchkeyError('ERR_NO_LEADER')),
      )
    })
  }

  /** `tell` gets each reply in a later turn of the event loop than the turn of the request. */
  clientConnection(
    tell: (reply: LinkReply) => void,
    identity: Identity,
    source: CallSource,
  ): ClientConnection {
    return this.#clients.open(tell, identity, source)
  }

  get clientConnections(): number {
    return this.#clients.size
  }

  push(session: number, key: Uint8Array, owner: OwnerResult): void {
    this.#clients.granted(session, key, owner)
  }

  tellEnd(session: number, ticket: PartyTicket, result: PartyResult): void {
    this.#clients.ended(session, ticket, result)
  }

  /**
   * Called when a connection between members was opened or closed. If no leader is known, this method tells
   * the clients which members are missing.
   */
  reachesOthers(): void {
    if (this.replica.node.raft.leader === undefined) this.#clients.tellLeader()
  }

  receive(from: MemberId, bytes: Uint8Array): void {
    const message = decodeMemberMessage(bytes)
    if (message === null)
      return this.#ports.logger.warn('a message of another member could not be decoded', { from })
    switch (message.kind) {
      case 'command':
        return this.#requestsOfMembers.command(from, message)
      case 'call':
        return this.#requestsOfMembers.call(from, message)
      case 'stateHashes':
      case 'compare':
      case 'compared':
        return this.#states.receive(from, message)
      case 'linkOpen':
      case 'linkRequests':
      case 'linkClose':
      case 'linkReplies':
      case 'linkClosed':
      case 'notMember':
        return this.links.receive(from, message)
      default:
        return this.#forwarder.answered(from, message)
    }
  }

  /** The caller applies no entry until the promise resolves. */
  onStateHash(hash: StateHash): Promise<unknown> | undefined {
    return this.#states.onStateHash(hash)
  }

  #answer(to: MemberId, message: MemberMessage): boolean {
    return this.replica.transport.sendApp(to, encodeMemberMessage(message))
  }

  /** Throws if the cluster has no other voter, because another voter must send the state. */
  #rebuild(): void {
    const { node, transport } = this.replica
    const others = node.raft.membership.voters.filter((id) => id !== this.id)
    if (others.length === 0)
      throw new LatchkeyError(
        'ERR_PROTOCOL',
        `${this.id} is the only voter, so no other member can send the state to it. Nothing was changed.`,
      )
    if (node.raft.leader === undefined || !others.some((id) => transport.connected(id)))
      throw new LatchkeyError(
        'ERR_NO_LEADER',
        `${this.id} reaches no leader or no other voter that can send the state to it. Nothing was changed.`,
      )
    this.#ports.rebuild()
  }

  async close(): Promise<void> {
    this.#ownMembership.close()
    this.#leaderlessTime.close()
    this.#states.close()
    this.links.close(new LatchkeyError('ERR_NO_LEADER', 'This member was closed.'))
    await this.replica.handOver(this.replica.node.options.electionTimeout * 2)
    this.#clients.close()
    await this.replica.close().finally(() => this.#forwarder.close())
  }
}
