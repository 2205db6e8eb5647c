// Driver: one member with its log, state machine, network and loop. The class opens and closes these parts in
// the right order.
//
// A start opens the state machine first, because the lock of LevelDB also guards the directory. The next
// steps are to open the log, to choose a plan (boot-plan.ts), and to start the loop and the network. So no
// message is sent before the log is open, and no message is received before the loop exists.

import type { Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { membersOf } from '../core/index.js'
import type { MemberId, Membership } from '../core/types.js'
import type { PeerEvent, PeerInfo, Transport } from '../net/index.js'
import type { Identity, Wal } from '../wal/index.js'
import { Addresses } from './member-addresses.js'
import { VotingDelay } from './voting-delay.js'
import { type HandOver, handOver } from './leadership-transfer-before-close.js'
import { RaftNode } from './node.js'
import { type DirectoryNote, noteInMemory, OneCluster } from './data-directory-in-wrong-cluster.js'
import {
  type Booted,
  firstMembers,
  isOneOfMany,
  isUnborn,
  openLog,
  reconcile,
} from './recover-log-and-state-machine.js'
import { AutomaticMembershipChanges } from './record-ids-and-addresses-in-membership.js'
import type { ReplicaOptions, ReplicaPorts } from './replica-types.js'

/**
 * In ms, the shortest time for which this member waits for the answers of members that are in its options and
 * not in its log. An attempt to connect ends earlier (TIMING.connect).
 */
const LEAST_PATIENCE = 2_500

export class Replica {
  readonly node: RaftNode
  readonly transport: Transport
  readonly #wal: Wal
  readonly #ports: ReplicaPorts
  readonly #options: ReplicaOptions
  readonly #automaticChanges: AutomaticMembershipChanges
  /** The description that each other member sent when this member last connected to it. */
  readonly #met = new Map<MemberId, PeerInfo>()
  #identity: Identity
  readonly #votingDelay: VotingDelay
  readonly #note: DirectoryNote
  readonly #oneCluster: OneCluster
  readonly #addresses: Addresses
  readonly #proving = new Set<Timer>()

  static async open(options: ReplicaOptions, ports: ReplicaPorts): Promise<Replica> {
    const opened: (() => Promise<void>)[] = []
    try {
      const applied = await ports.machine.open()
      opened.push(() => ports.machine.close())
      const { wal, recovered } = await openLog(options, ports)
      opened.push(() => wal.close())
      const unborn = isUnborn(recovered) && applied === undefined
      const found = unborn ? await firstMembers(options, wal, recovered) : recovered
      const booted = await reconcile(found, applied, wal)
      return new Replica(options, ports, wal, booted, unborn && isOneOfMany(options))
    } catch (error) {
      for (const close of opened.reverse()) await close().catch(() => {})
      throw error
    }
  }

  constructor(options: ReplicaOptions, ports: ReplicaPorts, wal: Wal, booted: Booted, waitsToVote: boolean) {
    const { recovered, applied, rebuild } = booted
    this.#options = options
    this.#ports = ports
    this.#wal = wal
    this.#identity = recovered.identity
    this.node = new RaftNode(
      {
        id: options.id,
        group: options.group ?? 0,
        electionTimeout: options.electionTimeout,
        heartbeat: options.heartbeat,
        snapshot: options.snapshot,
        maxInFlightBytes: options.maxInFlightBytes,
        limits: options.limits,
      },
      { ...ports, log: wal, send: (to, message) => this.transport.send(to, message) },
      {
        raft: {
          hardState: recovered.hardState,
          entries: recovered.entries,
          start: recovered.start.position,
          membership: recovered.start.membership,
          applied: applied.position.index,
          rebuild,
          mayVote: !waitsToVote,
        },
        applied,
        rebuilding: rebuild,
      },
    )
    this.#votingDelay = this.#makeVotingDelay(waitsToVote)
    this.#note = ports.note ?? noteInMemory()
    this.#oneCluster = this.#makeOneCluster()
    this.#addresses = new Addresses({
      id: options.id,
      given: options.members ?? {},
      wasAt: (id, url) => this.#note.knows(id, url),
      isConnected: (id) => this.transport.connected(id),
    })
    this.transport = ports.transport({
      admit: (info) => this.#admit(info),
      missing: (one) => this.missing(one),
      identity: () => ({ ...this.#identity, born: ports.note?.born }),
    })
    this.#automaticChanges = new AutomaticMembershipChanges({
      node: this.node,
      newClusterId: () => this.#newClusterId(),
      incarnation: (id) => (id === options.id ? this.#identity : this.transport.peer(id))?.incarnation,
      url: options.members?.[options.id] ?? '',
      moved: (membership) => this.#addresses.moved(membership),
    })
    this.#listen()
    this.#noteCluster(applied.membership)
    this.#compareMembers()
    this.node.start()
  }

  #makeVotingDelay(fresh: boolean): VotingDelay {
    const { id } = this.#options
    const refused = () =>
      this.node.fail(
        'the first boot',
        new LatchkeyError(
          'ERR_WRONG_CLUSTER',
          `${id} is known to this cluster, but its directory is new. Remove ${id}, then start it with join: true and add it again.`,
        ),
      )
    const { incarnation } = this.#identity
    const { node } = this
    return new VotingDelay(
      {
        id,
        incarnation,
        voters: () => node.raft.membership.voters,
        allowVoting: () => node.allowVoting(),
        refused,
      },
      fresh,
    )
  }

  #newClusterId(): string | undefined {
    if (this.#options.clusterId === undefined) return this.#ports.newId()
    this.#oneCluster.refuseToFound()
    return undefined
  }

  #makeOneCluster(): OneCluster {
    const { id, members, electionTimeout, clusterId: expected } = this.#options
    const { clock } = this.#ports
    return new OneCluster({
      id,
      given: members ?? {},
      note: this.#note,
      expected,
      clusterId: () => this.#identity.clusterId,
      clock,
      patience: Math.max(LEAST_PATIENCE, 2 * electionTimeout),
      asked: () => this.#ports.asked?.(),
      stop: (error) => this.node.fail('the cluster', error),
    })
  }

  /**
   * True while this member serves no client, because it waits for the answers of members that are in its
   * options and not in its log (data-directory-in-wrong-cluster.ts).
   */
  get isAsking(): boolean {
    return this.#oneCluster.isAsking
  }

  /** '' while the id is unknown. */
  get clusterId(): string {
    return this.#identity.clusterId
  }

  /**
   * The members of a new cluster that this new member still waits for before it votes. Undefined if this
   * member does not wait.
   */
  get firstStartWaitsFor(): readonly MemberId[] | undefined {
    return this.#votingDelay.waitsFor
  }

  get identity(): Identity {
    return this.#identity
  }

  #listen(): void {
    this.node.on('peers', (membership) => this.#talkTo(membership))
    this.node.on('membership', (membership) => {
      this.#noteCluster(membership)
      this.#votingDelay.committed(membership)
      this.#automaticChanges.look()
    })
    this.transport.on('message', (message) => {
      if (!this.#votingDelay.acceptsMessages) return
      this.node.receive(message, this.transport.peer(message.from)?.incarnation)
    })
    this.transport.on('app', ({ from, bytes }) => this.#ports.app?.(from, bytes))
    this.transport.on('peer', (event) => this.#onPeer(event))
    this.transport.on('refused', ({ id, by, code, info }) => {
      if (by !== 'them' || info === undefined) return
      if (code === 'ERR_WRONG_CLUSTER') this.#votingDelay.refusedBy(info.id, info.clusterId)
      if (id !== undefined) this.#oneCluster.answered(id, this.#addresses.dialled(id), info)
    })
    this.transport.on('answered', ({ url, info, admitted }) => {
      this.#oneCluster.answered(info.id, url, info)
      this.#addresses.answered(info.id)
      if (admitted && info.clusterId === this.clusterId) this.#provedLater(info.id)
    })
    this.node.on('role', () => this.#automaticChanges.look())
    this.node.on('applied', () => {
      if (this.#automaticChanges.unfinished) this.#automaticChanges.look()
    })
  }

  #provedLater(id: MemberId): void {
    this.#electionTimeoutLater(() => {
      this.#addresses.proved(id)
      this.#talkTo(this.node.raft.membership)
      this.#electionTimeoutLater(() => this.#tryBothAddresses(id))
    })
  }

  /**
   * If the member has not connected at its given address, both addresses are tried again. The member may have
   * left the given address after it answered there.
   */
  #tryBothAddresses(id: MemberId): void {
    if (this.transport.connected(id)) return
    this.#addresses.gone(id)
    this.#talkTo(this.node.raft.membership)
  }

  #electionTimeoutLater(run: () => void): void {
    const timer = this.#ports.clock.after(
      this.#options.electionTimeout,
      () => {
        this.#proving.delete(timer)
        run()
      },
      { ref: false },
    )
    this.#proving.add(timer)
  }

  #talkTo(membership: Membership): void {
    this.#oneCluster.look(membership)
    this.transport.setPeers(this.#addresses.peers(membership, this.#oneCluster.unknownMembers))
  }

  /**
   * Logs a warning if the members in the options differ from the members in the log. The members in the log
   * are used.
   */
  #compareMembers(): void {
    const { members, id, join } = this.#options
    const { membership } = this.node.raft
    if (members === undefined || join || membersOf(membership).length === 0) return
    const [given, known] = [members, Object.fromEntries(urlsOf(membership))]
    // A cluster of one member has no address in its log until the leader adds the address. So this member's
    // empty address in the log does not count as a difference.
    const differs = (one: string) => given[one] !== known[one] && !(one === id && known[one] === '')
    const others = [...new Set([...Object.keys(given), ...Object.keys(known)])].filter(differs)
    if (others.length > 0)
      this.#ports.logger.warn('the members given are not those of the log, which count', { given, known })
  }

  /**
   * Called with each committed membership. A new cluster's id is written to the log, and is sent in each
   * handshake from now on.
   */
  #noteCluster({ cluster }: Membership): void {
    if (cluster === undefined || this.#identity.clusterId === cluster) return
    this.#identity = { ...this.#identity, clusterId: cluster }
    this.#oneCluster.judge()
    this.#wal.setCluster(cluster, (error) => error && this.node.fail('the log', error))
  }

  #onPeer({ id, state, info }: PeerEvent): void {
    if (state === 'up') return this.#onMet(info)
    if (state === 'dead') return this.node.leaderGone(id)
    if (this.#addresses.hasTwo(id)) {
      this.#addresses.gone(id)
      this.#talkTo(this.node.raft.membership)
    }
    this.node.unreachable(id)
    this.#ports.gone?.(id)
  }

  /**
   * Returns the reason to refuse a peer, or undefined to admit it. A peer of this cluster is admitted even if
   * this member's log does not have the peer: this member may lag, and the peer may be the leader. A peer is
   * admitted until its removal is committed, because the commit may need this peer (M11).
   */
  #admit({
    id,
    incarnation,
    clusterId,
  }: Pick<PeerInfo, 'id' | 'incarnation' | 'clusterId'>): string | undefined {
    const { membership } = this.node.raft
    if (membersOf(membership).length === 0) return undefined
    const known = membership.peers[id] ?? this.node.applied.membership.peers[id]
    if (known === undefined && clusterId !== '' && clusterId === this.clusterId) return undefined
    if (known === undefined) return `${id} is no member: add it first (latchkey members add)`
    if (known.incarnation === '' || known.incarnation === incarnation) return undefined
    return `${id} has another directory than the one it joined with: remove ${id}, then start it with join: true and add it again`
  }

  missing(id: MemberId): number | undefined {
    const { membership, position } = this.node.applied
    const members = membersOf(membership)
    return members.length === 0 || members.includes(id) ? undefined : position.index
  }

  /**
   * Returns a connected member whose membership does not contain this member, and whose applied index is at
   * least this member's commit index. If there is such a member, this member was removed, or is still being
   * added.
   */
  get missedBy(): MemberId | undefined {
    const { commit } = this.node.raft
    const others = [...this.#met.values()].filter(({ id }) => this.transport.connected(id))
    return others.find(({ missing }) => missing !== undefined && missing >= commit)?.id
  }

  /**
   * Called when the member `by` reports, on an existing connection, that its membership does not contain this
   * member.
   */
  reportedNotMember(by: MemberId, index: number): void {
    const info = this.#met.get(by)
    if (info !== undefined) this.#met.set(by, { ...info, missing: index })
  }

  #onMet(info: PeerInfo): void {
    this.#met.set(info.id, info)
    this.#oneCluster.answered(info.id, this.#addresses.dialled(info.id), info)
    if (this.#addresses.hasTwo(info.id)) this.#talkTo(this.node.raft.membership)
    this.#automaticChanges.look()
    this.#votingDelay.met(info.id, info.clusterId)
    this.#ports.met?.(info.id)
  }

  handOver(timeout: number, to?: MemberId): Promise<HandOver> {
    return handOver(this.node, this.#ports.clock, timeout, (id) => this.transport.connected(id), to)
  }

  /** Closes all parts, even if one of them fails to close. Then throws the first error. */
  async close(): Promise<void> {
    this.#oneCluster.close()
    for (const timer of this.#proving) timer.cancel()
    const parts = [this.node, this.transport, this.#ports.machine, this.#wal]
    const faults: unknown[] = []
    for (const part of parts) await part.close().catch((error: unknown) => faults.push(error))
    if (faults.length > 0) throw faults[0]
  }
}

const urlsOf = ({ peers }: Membership): [MemberId, string][] =>
  Object.entries(peers).map(([id, peer]) => [id, peer.url])
