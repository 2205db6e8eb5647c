// Driver: one member on its directory: log, machine, network and the loop, opened and closed in the right order.
//
// Order of a start: machine (what was applied; its own lock is a second guard of the directory) -> log (what was promised) ->
// plan (boot.ts) -> loop -> network. Nothing is said before the log is open, nothing is heard before the loop is there.

import type { Clock, Logger, Random } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { decodeMembership, encodeMembership, membersOf, NO_MEMBERS } from '../core/index.js'
import type { Entry, HardState, LogPosition, MemberId, Membership } from '../core/types.js'
import type { PeerEvent, PeerInfo, Transport } from '../net/index.js'
import { type FileSystem, type Identity, type MembershipCodec, type Recovered, Wal } from '../wal/index.js'
import { planBoot } from './boot.js'
import { FirstBootGate } from './first-boot-gate.js'
import { type HandOver, handOver } from './hand-over.js'
import type { AppliedState, StateMachine } from './machine.js'
import { RaftNode } from './node.js'
import { Registrar } from './registrar.js'

export interface ReplicaOptions {
  readonly id: MemberId
  readonly group?: number
  /** Addresses of all voters of a new cluster, this one's included; read at the first boot. Undefined: a cluster of one. */
  readonly members: Readonly<Record<MemberId, string>> | undefined
  /** A new, empty member that waits to be added. */
  readonly join: boolean
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
}

export interface ReplicaPorts {
  readonly fs: FileSystem
  /** The log's folder; the caller holds the lock of the directory around it. */
  readonly dir: string
  readonly clock: Clock
  readonly random: Random
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  readonly machine: StateMachine
  transport(self: TransportOwner): Transport
  /** 128 random bits as text. */
  readonly newId: () => string
  /** A message of the layer above, from another member. */
  app?(from: MemberId, bytes: Uint8Array): void
  /** The way to a member is gone: what was asked there has an unknown fate. */
  gone?(id: MemberId): void
}

/** What a transport asks its member. */
export interface TransportOwner {
  /** Undefined, or the reason why that member is not talked to. */
  admit(info: Pick<PeerInfo, 'id' | 'incarnation' | 'clusterId'>): string | undefined
  /** Told to one who is admitted and no member: the entry up to which that is so. */
  missing(id: MemberId): number | undefined
  /** What is told of this member in a handshake. */
  identity(): { readonly incarnation: string; readonly clusterId: string }
}

const NOWHERE: LogPosition = { index: 0, term: 0, time: 0 }

/** No members are no bytes: a log that waits to be told whose it is. */
const membershipCodec: MembershipCodec = {
  encode: (membership) =>
    membersOf(membership).length === 0 ? new Uint8Array(0) : encodeMembership(membership),
  decode: (bytes) => {
    const membership = bytes.length === 0 ? NO_MEMBERS : decodeMembership(bytes)
    if (membership === undefined)
      throw new LatchkeyError('ERR_CORRUPT', 'The members in the log cannot be read.')
    return membership
  },
}

export class Replica {
  readonly node: RaftNode
  readonly transport: Transport
  readonly #wal: Wal
  readonly #ports: ReplicaPorts
  readonly #options: ReplicaOptions
  readonly #registrar: Registrar
  /** What each other member said of itself when it was last dialled. */
  readonly #met = new Map<MemberId, PeerInfo>()
  #identity: Identity
  readonly #firstBoot: FirstBootGate

  static async open(options: ReplicaOptions, ports: ReplicaPorts): Promise<Replica> {
    const opened: (() => Promise<void>)[] = []
    try {
      const applied = await ports.machine.open()
      opened.push(() => ports.machine.close())
      const { wal, recovered } = await openLog(options, ports)
      opened.push(() => wal.close())
      const unborn = isUnborn(recovered) && applied === undefined
      const found = unborn ? await firstMembers(options, wal, recovered) : recovered
      const booted = await settle(found, applied, wal)
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
    this.#firstBoot = this.#makeFirstBootGate(waitsToVote)
    this.transport = ports.transport({
      admit: (info) => this.#admit(info),
      missing: (one) => this.#missing(one),
      identity: () => this.#identity,
    })
    this.#registrar = new Registrar({
      node: this.node,
      newClusterId: ports.newId,
      incarnation: (id) => (id === options.id ? this.#identity : this.transport.peer(id))?.incarnation,
      url: options.members?.[options.id] ?? '',
    })
    this.#listen()
    this.#noteCluster(applied.membership)
    this.#compareMembers()
    this.node.start()
  }

  #makeFirstBootGate(fresh: boolean): FirstBootGate {
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
    return new FirstBootGate(
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

  /** The cluster this member belongs to; '' until it knows. */
  get clusterId(): string {
    return this.#identity.clusterId
  }

  get identity(): Identity {
    return this.#identity
  }

  #listen(): void {
    this.node.on('peers', (membership) => this.#talkTo(membership))
    this.node.on('membership', (membership) => {
      this.#noteCluster(membership)
      this.#firstBoot.committed(membership)
      this.#registrar.look()
    })
    this.transport.on('message', (message) => {
      if (!this.#firstBoot.hears) return
      this.node.receive(message, this.transport.peer(message.from)?.incarnation)
    })
    this.transport.on('app', ({ from, bytes }) => this.#ports.app?.(from, bytes))
    this.transport.on('peer', (event) => this.#onPeer(event))
    this.transport.on('refused', ({ by, code, info }) => {
      if (by === 'them' && code === 'ERR_WRONG_CLUSTER' && info !== undefined)
        this.#firstBoot.refusedBy(info.id, info.clusterId)
    })
    this.node.on('role', () => this.#registrar.look())
    this.node.on('applied', () => {
      if (this.#registrar.unfinished) this.#registrar.look()
    })
  }

  #talkTo(membership: Membership): void {
    const known = membersOf(membership).length > 0
    // A member that waits to be added knows the others from its options only.
    const urls = known ? urlsOf(membership) : Object.entries(this.#options.members ?? {})
    const others = urls.filter(([id, url]) => id !== this.#options.id && url !== '')
    this.transport.setPeers(Object.fromEntries(others.map(([id, url]) => [id, { url }])))
  }

  /** Members given count at the first boot alone; that they are others now may surprise whoever gave them. */
  #compareMembers(): void {
    const { members, id, join } = this.#options
    const { membership } = this.node.raft
    if (members === undefined || join || membersOf(membership).length === 0) return
    const [given, known] = [members, Object.fromEntries(urlsOf(membership))]
    // A store that was opened alone grows by its address: the registrar writes it down.
    const differs = (one: string) => given[one] !== known[one] && !(one === id && known[one] === '')
    const others = [...new Set([...Object.keys(given), ...Object.keys(known)])].filter(differs)
    if (others.length > 0)
      this.#ports.logger.warn('the members given are not those of the log, which count', { given, known })
  }

  /** Committed, so it is for ever: written beside the vote, and told in every handshake from now on. */
  #noteCluster({ cluster }: Membership): void {
    if (cluster === undefined || this.#identity.clusterId === cluster) return
    this.#identity = { ...this.#identity, clusterId: cluster }
    this.#wal.setCluster(cluster, (error) => error && this.node.fail('the log', error))
  }

  #onPeer({ id, state, info }: PeerEvent): void {
    if (state === 'up') return this.#onMet(info)
    if (state === 'dead') return this.node.leaderGone(id)
    this.node.unreachable(id)
    this.#ports.gone?.(id)
  }

  /**
   * One of this cluster whom this member does not know yet may be its next leader: a member that lags has not heard of all that
   * joined. Whether it is heard is then the core's to say. One whose removal is not committed yet is needed until it is (M11):
   * its connection may be older than the cluster's id.
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

  #missing(id: MemberId): number | undefined {
    const { membership, position } = this.node.applied
    const members = membersOf(membership)
    return members.length === 0 || members.includes(id) ? undefined : position.index
  }

  /** Another member does not list this one, and has committed no less: it was removed, or is being added just now. */
  get missedBy(): MemberId | undefined {
    const { commit } = this.node.raft
    const others = [...this.#met.values()].filter(({ id }) => this.transport.connected(id))
    return others.find(({ missing }) => missing !== undefined && missing >= commit)?.id
  }

  #onMet(info: PeerInfo): void {
    this.#met.set(info.id, info)
    this.#registrar.look()
    this.#firstBoot.met(info.id, info.clusterId)
  }

  /** Gives the lead away, when it has it. */
  handOver(timeout: number, to?: MemberId): Promise<HandOver> {
    return handOver(this.node, this.#ports.clock, timeout, (id) => this.transport.connected(id), to)
  }

  /** All of it is let go of, also when a part cannot be closed in peace; that is told afterwards. */
  async close(): Promise<void> {
    const parts = [this.node, this.transport, this.#ports.machine, this.#wal]
    const faults: unknown[] = []
    for (const part of parts) await part.close().catch((error: unknown) => faults.push(error))
    if (faults.length > 0) throw faults[0]
  }
}

function openLog(options: ReplicaOptions, ports: ReplicaPorts): Promise<{ wal: Wal; recovered: Recovered }> {
  return Wal.open({
    fs: ports.fs,
    dir: ports.dir,
    group: options.group ?? 0,
    memberId: options.id,
    incarnation: ports.newId(),
    membership: membershipCodec,
    clock: ports.clock,
    logger: ports.logger,
  })
}

const urlsOf = ({ peers }: Membership): [MemberId, string][] =>
  Object.entries(peers).map(([id, peer]) => [id, peer.url])

const isOneOfMany = ({ members, join }: ReplicaOptions) => !join && Object.keys(members ?? {}).length > 1

/** Nothing was ever promised from this log. */
function isUnborn({ hardState, entries, start, identity }: Recovered): boolean {
  return (
    hardState.term === 0 && entries.length === 0 && start.position.index === 0 && identity.clusterId === ''
  )
}

/** Written down before the first word: a directory is of one group of members from its first boot on. */
async function firstMembers(options: ReplicaOptions, wal: Wal, recovered: Recovered): Promise<Recovered> {
  if (options.join || membersOf(recovered.start.membership).length > 0) return recovered
  const urls = Object.entries(options.members ?? { [options.id]: '' })
  const membership: Membership = {
    ...NO_MEMBERS,
    voters: urls.map(([id]) => id).sort((a, b) => (a < b ? -1 : 1)),
    peers: Object.fromEntries(urls.map(([id, url]) => [id, { url, incarnation: '' }])),
  }
  await restartLog(wal, NOWHERE, membership)
  return { ...recovered, start: { position: NOWHERE, membership } }
}

interface Booted {
  readonly recovered: Recovered
  readonly applied: AppliedState
  readonly rebuild: boolean
}

async function settle(recovered: Recovered, applied: AppliedState | undefined, wal: Wal): Promise<Booted> {
  const { start, entries } = recovered
  const plan = planBoot(extentOf(start.position, entries), applied)
  switch (plan.type) {
    case 'fresh':
      return { recovered, applied: start, rebuild: false }
    case 'go':
      return { recovered, applied: plan.state, rebuild: false }
    case 'restart-log': {
      const hardState = hardStateBehind(plan.state.position, recovered)
      await restartLog(wal, plan.state.position, plan.state.membership, hardState)
      const restarted = { ...recovered, hardState, start: plan.state, entries: [] }
      return { recovered: restarted, applied: plan.state, rebuild: false }
    }
    case 'rebuild':
      return { recovered, applied: start, rebuild: true }
  }
}

function extentOf(start: LogPosition, entries: readonly Entry[]) {
  return {
    start,
    lastIndex: start.index + entries.length,
    termAt: (index: number) =>
      index === start.index ? start.term : (entries[index - start.index - 1] as Entry).term,
  }
}

/** A restored state comes with a log of its own time: no vote was given in it yet. */
function hardStateBehind({ term }: LogPosition, { hardState }: Recovered): HardState {
  return hardState.term >= term ? hardState : { term, vote: undefined }
}

function restartLog(
  wal: Wal,
  position: LogPosition,
  membership: Membership,
  hardState?: HardState,
): Promise<void> {
  const batch = {
    id: 0,
    hardState,
    truncateFrom: undefined,
    entries: [],
    restartAfter: { position, membership },
  }
  return new Promise((resolve, reject) => {
    wal.append(batch, (error) => (error === undefined ? resolve() : reject(error)))
  })
}
