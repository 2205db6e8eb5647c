// Driver: one whole member: the replica with its key-value state, its client connections, and its messages to
// other members. All effects go through the ports, so that the simulator runs this same code.

import { type Clock, Emitter, type Logger, type Random } from '@latchkey/base'
import {
  type DiskUse,
  LatchkeyError,
  type LinkReply,
  type OwnerResult,
  type Status,
} from '@latchkey/protocol'
import {
  type DirectoryNote,
  type MemberId,
  type Membership,
  membersOf,
  Replica,
  type ReplicaOptions,
  type ReplicaPorts,
} from '@latchkey/raft'
import type { FileSystem } from '@latchkey/raft/wal'
import { type KvStore, SPACE_NAMES, type StateHash } from '@latchkey/kv'
import { Admin } from './admin-calls.js'
import { SessionAttachments } from './session-attachments.js'
import { OwnMembership, removed } from './own-membership.js'
import { type MemberMessage, decodeMemberMessage, encodeMemberMessage } from './member-messages.js'
import { MemberChanges } from './membership-changes.js'
import { CommandQueue } from './command-queue.js'
import { Forwarder } from './forwarder.js'
import { LeaderlessTime } from './leaderless-time.js'
import { MemberLinks } from './member-links.js'
import { RequestsOfMembers } from './requests-of-members.js'
import type { Identity } from './rights.js'
import { ReadTurns } from './read-turns.js'
import { ClientConnection } from './client-connection.js'
import { currentStand, type StateHashes, StateCheck, standOf } from './state-check.js'
import { StateSearch } from './state-search.js'
import { leaderReplyOf, statusOf } from './status.js'

/** If no leader is known for this long, this member believes others that report that it was removed. */
const LEADERLESS_TIMEOUTS = 4

export interface MemberPorts {
  readonly fs: FileSystem
  readonly dir: string
  readonly clock: Clock
  readonly random: Random
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly transport: ReplicaPorts['transport']
  readonly newId: () => string
  readonly note?: DirectoryNote | undefined
  /** The member may serve clients from now on. */
  readonly asked?: (() => void) | undefined
  /** Why no member can be added; undefined: connections of members are authenticated. */
  readonly whyNoMembers?: (() => string | undefined) | undefined
  /** Left out: nothing is stored on a disk. */
  readonly diskUse?: (() => Promise<DiskUse>) | undefined
  /** Requests that this member's state be deleted and the member be opened anew. Returns at once. */
  rebuild(): void
  machine(hooks: {
    granted(session: number, key: Uint8Array, owner: OwnerResult): void
    failed(error: LatchkeyError): void
    stood(hash: StateHash): Promise<unknown> | undefined
  }): KvStore
}

export type MemberEvents = {
  failed: LatchkeyError
  /** The member was removed from its cluster, or is a member again. */
  removed: boolean
  /** The member does not reach its leader, or reaches it again (leader-reach.ts). */
  cutOff: boolean
}

export class Member extends Emitter<MemberEvents> {
  readonly replica: Replica
  readonly kv: KvStore
  readonly #ports: MemberPorts
  readonly #commands: CommandQueue
  readonly #forwarder: Forwarder
  readonly #admin: Admin
  readonly #readTurns: ReadTurns
  readonly #clientConnections = new Set<ClientConnection>()
  readonly #sessionAttachments = new SessionAttachments<ClientConnection>()
  readonly #stateSearch: StateSearch
  readonly #stateCheck: StateCheck
  readonly #ownMembership: OwnMembership
  readonly #leaderlessTime: LeaderlessTime
  readonly links: MemberLinks
  readonly #requestsOfMembers: RequestsOfMembers
  /** The last entry of its own log at the start. */
  readonly #recovered: number

  static async open(options: ReplicaOptions, ports: MemberPorts): Promise<Member> {
    let member: Member | undefined
    const kv = ports.machine({
      granted: (session, key, owner) => member?.push(session, key, owner),
      failed: (error) => member?.replica.node.fail('the state', error),
      stood: (hash) => member?.stood(hash),
    })
    const forwarder = new Forwarder({
      clock: ports.clock,
      random: ports.random.fork('forwarder'),
      send: (to, frame) => member?.replica.transport.sendApp(to, frame) ?? false,
    })
    const replica = await Replica.open(options, {
      ...ports,
      machine: kv,
      app: (from, bytes) => member?.hear(from, bytes),
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
    this.#recovered = replica.node.raft.lastIndex
    this.kv = kv
    const { maxInFlightBytes: mostBytes } = replica.node.options
    this.#commands = new CommandQueue({ node: replica.node, kv, mostBytes })
    this.#ports = ports
    this.#forwarder = forwarder
    this.#readTurns = new ReadTurns(ports.clock)
    const { node } = replica
    this.#admin = this.#makeAdmin()
    node.on('role', ({ leader }) => {
      if (leader !== undefined) this.#leads(leader)
      this.#tellLeader()
    })
    this.#stateSearch = new StateSearch({
      clock: ports.clock,
      random: ports.random.fork('state-search'),
      freeze: (index) => kv.frozen(index),
      send: (to, message) => this.#answer(to, message),
      found: (from, index, difference) =>
        ports.logger.error('the first row that differs', { from, index, ...difference }),
    })
    this.#stateCheck = new StateCheck({
      clock: ports.clock,
      applied: () => node.applied.position.index,
      stateHashes: () => (this.#isTold() ? currentStand(kv) : undefined),
      tell: (stateHashes) => this.#tellOthers(stateHashes),
      hold: (index) => this.#stateSearch.hold(index),
      differs: (from, index, spaces) => this.#differs(from, index, spaces),
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
      this.#tellLeader()
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
    return new RequestsOfMembers({ node, kv: this.kv, commands: this.#commands, admin: this.#admin, answer })
  }

  #makeMemberLinks(): MemberLinks {
    return new MemberLinks({
      replica: this.replica,
      random: this.#ports.random,
      defer: this.#ports.defer,
      send: (to, message) => this.#answer(to, message),
      serves: () => !this.isLeft && !this.isOutside && !this.replica.isAsking,
      clientConnection: (tell, identity) => this.clientConnection(tell, identity),
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
        node.raft.leader !== undefined || node.failure !== undefined || this.isLeft || !this.#isTold(),
      missedBy: () => this.replica.missedBy,
      tell: (by) => {
        this.#ports.logger.warn(removed(this.id), { id: this.id, told: by })
        this.#ownMembership.heard()
      },
    })
  }

  get id(): MemberId {
    return this.replica.node.options.id
  }

  /** The member was removed, and its last answers have been sent (own-membership.ts). */
  get isLeft(): boolean {
    return this.#ownMembership.isOver
  }

  /** The member is not in its membership: it was removed, or does not yet know that it was added. */
  get isOutside(): boolean {
    const members = membersOf(this.replica.node.applied.membership)
    return members.length > 0 && !members.includes(this.id)
  }

  status(): Status {
    return statusOf(this.replica)
  }

  /** A leader is known and this member has caught up: a linearizable read proves both. */
  ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.replica.node.read((outcome) =>
        outcome.ok ? resolve() : reject(new LatchkeyError('ERR_NO_LEADER')),
      )
    })
  }

  // ---- clients

  /** `tell` is called in a later turn than the request that it answers. */
  clientConnection(tell: (reply: LinkReply) => void, identity: Identity): ClientConnection {
    const clientConnection = new ClientConnection({
      node: this.replica.node,
      kv: this.kv,
      forwarder: this.#forwarder,
      admin: this.#admin,
      turns: this.#readTurns,
      commands: this.#commands,
      tell,
      identity,
      attach: (session, by) => this.#sessionAttachments.attach(session, by),
      ended: (by) => this.#leave(by),
    })
    this.#clientConnections.add(clientConnection)
    clientConnection.tell(leaderReplyOf(this.replica, this.#membership()))
    return clientConnection
  }

  get clientConnections(): number {
    return this.#clientConnections.size
  }

  #leave(clientConnection: ClientConnection): void {
    this.#clientConnections.delete(clientConnection)
    this.#sessionAttachments.leave(clientConnection)
  }

  push(session: number, key: Uint8Array, owner: OwnerResult): void {
    for (const clientConnection of this.#sessionAttachments.of(session)) clientConnection.granted(key, owner)
  }

  /** Other members are connected than before: waiting clients learn which ones are missing. */
  reachesOthers(): void {
    if (this.replica.node.raft.leader === undefined) this.#tellLeader()
  }

  #tellLeader(): void {
    const reply = leaderReplyOf(this.replica, this.#membership())
    for (const clientConnection of this.#clientConnections) clientConnection.tell(reply)
  }

  /**
   * Each change of membership is reported when it is applied, also if the log already has a later one. But a
   * member that starts does not report the changes that it reads from its own log.
   */
  #membership(): Membership {
    const { applied, raft } = this.replica.node
    return applied.position.index < this.#recovered ? raft.membership : applied.membership
  }

  // ---- other members

  hear(from: MemberId, bytes: Uint8Array): void {
    const message = decodeMemberMessage(bytes)
    if (message === null) return this.#ports.logger.warn('a message between members made no sense', { from })
    switch (message.kind) {
      case 'command':
        return this.#requestsOfMembers.command(from, message)
      case 'call':
        return this.#requestsOfMembers.call(from, message)
      case 'stateHashes':
        return this.#stateCheck.hear(from, message)
      case 'compare':
        return void this.#stateSearch.asked(from, message)
      case 'compared':
        return this.#stateSearch.answered(from, message)
      case 'linkOpen':
      case 'linkAsked':
      case 'linkClose':
      case 'linkTold':
      case 'linkClosed':
        return this.links.hear(from, message)
      default:
        return this.#forwarder.answered(from, message)
    }
  }

  /** Called at a mark of cluster time; the next entry waits for the returned promise. */
  stood(hash: StateHash): Promise<unknown> | undefined {
    return this.#isTold() ? this.#stateCheck.stood(standOf(hash)) : undefined
  }

  /** False until a joining member applies an entry with a membership; founders know the members. */
  #isTold(): boolean {
    return membersOf(this.replica.node.applied.membership).length > 0
  }

  #tellOthers(stateHashes: StateHashes): void {
    for (const id of membersOf(this.replica.node.applied.membership)) {
      if (id !== this.id) this.#answer(id, { kind: 'stateHashes', ...stateHashes })
    }
  }

  /** Logged at each mark while the states differ. The meta row differs whenever another one does. */
  #differs(from: MemberId, index: number, spaces: readonly string[]): Promise<boolean> {
    this.#ports.logger.error('members hold different states: rebuild the one that is wrong', {
      from,
      index,
      spaces,
    })
    const names = SPACE_NAMES.filter((name) => spaces.includes(name))
    const rows = names.filter((name) => name !== 'meta')
    return this.#stateSearch.search(from, index, rows.length > 0 ? rows : names)
  }

  #answer(to: MemberId, message: MemberMessage): boolean {
    return this.replica.transport.sendApp(to, encodeMemberMessage(message))
  }

  // ---- the end

  /** The state is deleted only if another member can send it again. */
  #rebuild(): void {
    const { node, transport } = this.replica
    const others = node.raft.membership.voters.filter((id) => id !== this.id)
    if (others.length === 0)
      throw new LatchkeyError(
        'ERR_PROTOCOL',
        `${this.id} is the only voter: there is nobody to have its state from. Nothing was changed.`,
      )
    if (node.raft.leader === undefined || !others.some((id) => transport.connected(id)))
      throw new LatchkeyError(
        'ERR_NO_LEADER',
        `${this.id} reaches no leader and no other voter: there is nobody to have its state from. Nothing was changed.`,
      )
    this.#ports.rebuild()
  }

  async close(): Promise<void> {
    this.#ownMembership.close()
    this.#leaderlessTime.close()
    this.#stateCheck.close()
    this.#stateSearch.close()
    this.links.close(new LatchkeyError('ERR_NO_LEADER', 'This member was closed.'))
    await this.replica.handOver(this.replica.node.options.electionTimeout * 2)
    for (const clientConnection of [...this.#clientConnections]) clientConnection.close()
    await this.replica.close().finally(() => this.#forwarder.close())
  }
}
