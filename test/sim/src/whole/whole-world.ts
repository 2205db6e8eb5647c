// Driver: the whole world of one seed: members, clients, their machines and the ways between them.

import { type Logger, type Random, seededRandom, silentLogger, text, utf8 } from '@latchkey/base'
import type { Route } from '@latchkey/client'
import type { KvMachine } from '@latchkey/kv'
import { type LinkRequest, READ } from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import { Client, type Reachability } from './clients/client.js'
import { embeddedRoute, remoteRoute } from './clients/routes.js'
import { CallRecords } from './clients/call-records.js'
import { KEY_PREFIX, keyNames, mergedNames } from './clients/kv-workers.js'
import { PAIR_KEYS } from './clients/pair-worker.js'
import { VirtualTime } from '../world/virtual-time.js'
import { Cuts, Host, type HostProcess, MemoryNetwork, type NetworkOptions } from '@latchkey/raft/memory'
import type { ProductModules } from './product-modules.js'
import { LawBroken } from '../laws/verdict.js'
import { OneHolder } from './laws/one-holder.js'
import { KeyExpiry } from './laws/key-expiry.js'
import { OneClusterLaw } from './laws/one-cluster.js'
import { NewLeaderInTime } from './laws/new-leader-in-time.js'
import { BarriersAndLatches } from './laws/barriers-and-latches.js'
import { RenewedHolds } from './laws/renewed-holds.js'
import { OneLeader } from './laws/one-leader.js'
import { LockHistory } from './laws/lock-history.js'
import { OneLog } from './laws/one-log.js'
import { MemberServer, serverOptions, type ServerPorts } from './members/member-server.js'
import { ClientNetwork } from '../../../../packages/latchkey/dist/test-cluster/client-network.js'
import { spreadOf, type WholeOptions, type WholeProfile } from './options.js'
import { listen } from './product-probes.js'
import { clientsReachLeader, reachesLeader } from './reaches-leader.js'

type RaftView = Parameters<ServerPorts['role']>[2]
export type Workers = (client: Client) => void

/** Their clients ask something at any time. */
const ALWAYS_ASKING: ReadonlySet<WholeProfile> = new Set(['kv', 'power', 'snapshots'])

/** Microseconds. */
const DIAL_TIMES = { first: [500, 15_000], afterEnd: [500, 30_000], again: [20_000, 120_000] } as const
/** A timer fires late by so many microseconds: a little always, much now and then. */
const lateness = (random: Random): number =>
  random.chance(0.02) ? random.between(0, 20_000) : random.between(0, 300)

const MEMBERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

export class WholeWorld {
  readonly options: WholeOptions
  readonly product: ProductModules
  /** Of a member of another cluster. */
  readonly foreignProduct: ProductModules | undefined
  readonly time = new VirtualTime()
  readonly random: Random
  readonly records: CallRecords
  readonly log: OneLog
  readonly leaders = new OneLeader()
  readonly locks: LockHistory
  readonly holds: OneHolder
  readonly renewed: RenewedHolds
  readonly barriers: BarriersAndLatches
  readonly expiry = new KeyExpiry()
  readonly reach: NewLeaderInTime
  readonly oneCluster = new OneClusterLaw()
  /** A member of another cluster, at the address of one of this one's. */
  foreign: MemberServer | undefined
  readonly cuts: Cuts
  readonly memberNetwork: MemoryNetwork
  readonly clientNetwork: ClientNetwork
  readonly servers: MemberServer[] = []
  readonly clients: Client[] = []
  /** Who is changing the members, until the last change has come to its end. */
  readonly operators = new Set<Client>()
  readonly trace: string[] = []
  /** What each key held when all was over. */
  readonly finals = new Map<string, string | undefined>()
  readonly #hosts: Host[] = []
  readonly #workers: Workers
  readonly logger: Logger
  readonly networkOptions: NetworkOptions
  #ids = 0
  readonly tracing: boolean

  constructor(
    options: WholeOptions,
    product: ProductModules,
    workers: Workers,
    tracing = false,
    foreignProduct?: ProductModules,
  ) {
    this.options = options
    this.foreignProduct = foreignProduct
    this.product = product
    this.tracing = tracing
    this.#workers = workers
    this.random = seededRandom(`whole-run/${options.seed}`)
    this.logger = tracing ? this.#telling() : silentLogger
    this.records = new CallRecords(this.time, options)
    this.log = new OneLog(Math.max(options.drift, spreadOf(options)))
    this.renewed = new RenewedHolds(options.drift)
    this.barriers = new BarriersAndLatches(2 + (options.seed % 3), 1 + (options.seed % 4))
    // A lone member's clients have nowhere else to go: one that dialled into its darkness waits for that dial.
    const hasOthers = options.members >= 3
    this.reach = new NewLeaderInTime(options.electionTimeout, hasOthers && ALWAYS_ASKING.has(options.profile))
    this.holds = new OneHolder(this.time, options.clocks !== 'beyond')
    this.locks = new LockHistory(this.log, (event) => this.tracing && this.say(JSON.stringify(event)))
    this.cuts = new Cuts(() => this.#cutsChanged())
    const { netBase: base, netTail: tail, pulse, encoded } = options
    const closing = { within: 4 * base + 2_000, gap: 1 }
    const networkOptions = { base, tail, pulse, closing, encoded, codec: product, dial: DIAL_TIMES }
    this.networkOptions = networkOptions
    this.memberNetwork = new MemoryNetwork(
      this.time,
      this.cuts,
      this.random.fork('wires'),
      networkOptions,
      (id) => this.#refuses(id),
    )
    this.clientNetwork = new ClientNetwork(
      this.time,
      this.cuts,
      this.random.fork('dials'),
      { ...networkOptions, dialling: [2 * base, 2 * base + 2_000] },
      (url) => (this.foreign?.url === url ? this.foreign : this.servers.find((one) => one.url === url)),
      {
        asked: (life, request) => this.#asked(life, request),
        answered: (life, reply, member) => {
          this.oneCluster.answered(life.host.name, member, reply)
          this.locks.answered(life, reply)
          this.renewed.answered(life, reply)
        },
        heard: (life) => this.reach.heard(life),
      },
    )
    for (let i = 0; i < options.members; i++) this.addServer(false)
  }

  start(): void {
    listen(this.product, {
      appended: (entries) => this.#appended(entries),
      granted: (tx, row) => this.locks.granted(tx, row),
      left: (tx, row) => this.locks.left(tx, row),
      entry: (tx, reader) => this.locks.entry(tx, reader),
      touched: (tx, row) => this.locks.touched(tx, row),
      command: (reader) => this.locks.command(reader),
    })
    for (const server of this.servers) server.boot()
    for (let i = 0; i < this.options.clients; i++) this.#startRemote(this.addHost(`p${i}`))
  }

  say(text: string): void {
    if (this.tracing) this.trace.push(`${(this.time.now / 1000).toFixed(3).padStart(10)} ${text}`)
  }

  #telling(): Logger {
    const line = (message: string, fields?: Readonly<Record<string, unknown>>) =>
      this.say(`${message} ${fields === undefined ? '' : JSON.stringify(fields)}`)
    return { debug: () => {}, info: line, warn: line, error: line }
  }

  // ---- machines

  addHost(name: string): Host {
    const index = this.#hosts.length
    const random = this.random.fork(`host-${name}`)
    const host = new Host(this.time, index, name, random, {
      rate: this.#rate(random),
      uptime: random.between(1_000, 10_000_000),
      wallAhead: 1_700_000_000_000 + random.between(-20_000, 20_000),
      lateness,
    })
    this.#hosts.push(host)
    return host
  }

  #rate(random: Random): number {
    const spread = spreadOf(this.options)
    if (this.options.clocks === 'near') return 1 + (random.float() * 2 - 1) * spread
    return random.chance(0.5) ? 1 + spread : 1 - spread
  }

  get hosts(): readonly Host[] {
    return this.#hosts
  }

  addServer(joins: boolean): MemberServer {
    const id = MEMBERS[this.servers.length] as string
    const founders = MEMBERS.slice(0, this.options.members)
    const members = Object.fromEntries(founders.map((one) => [one, `ws://${one}`]))
    const server = new MemberServer(
      id,
      serverOptions(this.options, joins ? { ...members, [id]: `ws://${id}` } : members),
      {
        product: this.product,
        host: this.addHost(id),
        memberNetwork: this.memberNetwork,
        random: this.random.fork(`station-${id}`),
        logger: this.logger,
        newId: () => this.newId(),
        machine: (at, machine) => this.#watchMachine(at, machine),
        opened: (at, life) => this.#opened(at, life),
        role: (at, life, raft) => this.#roleChanged(at, life, raft),
        failed: (at, error) => this.#stopped(at, error),
      },
      joins,
    )
    this.servers.push(server)
    return server
  }

  /** A process that knows nothing of this cluster but its addresses. */
  addRemote(): Host {
    const host = this.addHost(`p${this.#hosts.length}`)
    this.#startRemote(host)
    return host
  }

  newId(): string {
    return `id-${++this.#ids}`
  }

  #refuses(id: string): boolean {
    const server = this.servers.find((one) => one.id === id)
    return server !== undefined && !server.host.dark
  }

  #cutsChanged(): void {
    this.memberNetwork.changed()
    this.clientNetwork.changed()
  }

  // ---- clients

  #startRemote(host: Host): void {
    const life = host.start()
    const seeds = this.servers.filter(({ retired }) => !retired).map(({ url }) => url)
    const route = remoteRoute(this, life, seeds)
    const isServed = (url: string) => this.membersNow().some((server) => server.url === url)
    const found = (told: readonly string[]) => [...seeds, ...told].some(isServed)
    this.#startClient(host.name, life, route, { stranded: () => false, untold: () => false, found })
  }

  #startClient(name: string, life: HostProcess, route: Route, reachability: Reachability): void {
    const random = this.random.fork(`client-${name}-${this.newId()}`)
    const store = new this.product.ClientStore<'string'>({
      route,
      clock: life.clock,
      random: random.fork('store'),
      newId: () => this.newId(),
      as: 'string',
      sessionLife: this.options.sessionLife,
      drift: this.options.drift,
    })
    const client = new Client(name, life, store, random, this.records, reachability)
    this.clients.push(client)
    this.#workers(client)
  }

  restartClient(host: Host): void {
    host.die()
    this.#startRemote(host)
  }

  /** Those who missed every change until nobody was left of whom they knew are given addresses anew, as an operator has to. */
  findMembersAgain(): void {
    for (const { life, findsMembers } of [...this.clients])
      if (!life.dead && !findsMembers && life.host.name.startsWith('p')) this.restartClient(life.host)
  }

  #opened(server: MemberServer, life: HostProcess): void {
    this.say(`${server.id} is open`)
    if (this.servers.indexOf(server) >= this.options.embedded) return
    // Started anew behind its removal it cannot tell itself from one that waits to be added.
    const openedOutside = server.leftAlone
    const reachability = {
      stranded: () => server.member?.isLeft === true,
      untold: () => openedOutside && server.leftAlone,
      found: () => server.member?.isOutside === false && this.membersNow().includes(server),
    }
    this.#startClient(`in-${server.id}`, life, embeddedRoute(this, life, server), reachability)
  }

  // ---- what is seen

  #stopped(server: MemberServer, error: Error): void {
    const { code } = error as { code?: string }
    throw new LawBroken('members live', `${server.id} stopped by itself: ${code} ${error.stack}`)
  }

  #roleChanged({ id }: MemberServer, life: HostProcess, { role, term, leader }: RaftView): void {
    this.say(`${id} is ${role} of term ${term}, led by ${leader ?? 'nobody'}`)
    if (role !== 'leader') return
    this.reach.changed(this.time.now)
    try {
      this.leaders.leads(term, id, life)
    } catch (error) {
      this.time.fail(error)
    }
  }

  #asked(life: HostProcess, request: LinkRequest): void {
    this.locks.asked(life, request)
    this.renewed.asked(life, request)
    if (request.kind === 'command' || request.kind === 'read') this.reach.asked(life, this.time.now)
  }

  /** The laws that are looked at after every event. */
  look(): void {
    this.holds.look(this.locks.forced)
    this.renewed.look()
    this.reach.look(this.time.now, (life) => {
      const server = this.servers.find(({ host }) => host.life === life)
      return server === undefined ? clientsReachLeader(this) : reachesLeader(this, server)
    })
  }

  #appended(entries: readonly Entry[]): void {
    for (const entry of entries) this.log.appended(entry, this.time.now)
  }

  /** Looks at everything that is applied; the machine itself does not notice. */
  #watchMachine(server: MemberServer, machine: KvMachine): void {
    const apply = machine.apply.bind(machine)
    machine.apply = (entries, membershipAt) => {
      const { notes, result: results } = this.locks.during(() => apply(entries, membershipAt))
      const told = (given: Awaited<typeof results>) => {
        try {
          look(given)
        } catch (error) {
          this.time.fail(error)
        }
        return given
      }
      const look = (given: Awaited<typeof results>) => {
        entries.forEach((entry, i) => {
          const result = given[i]
          if (result === undefined)
            throw new LawBroken('one log', `entry ${entry.index} was applied without a result`)
          if (!this.log.applied(server.id, entry, result)) return
          this.locks.applied(entry, result, notes[i] ?? [])
          this.expiry.applied(entry, result)
        })
        this.expiry.look(machine.position.index, {
          isThere: (key) => machine.read([READ.contains, key]) === true,
          isOpen: (session) => machine.openSessions.openerOf(session) !== undefined,
        })
        this.#stateApplied(machine)
        // Who joins knows no members before an entry names them; founders know them from the start.
        const known = server.member?.replica.node.applied.membership.voters.length ?? 0
        if (known > 0) this.log.hashed(server.id, machine.stateHash())
      }
      return results instanceof Promise ? results.then(told) : told(results)
    }
  }

  /** For the judge of mirrors. */
  #stateApplied(machine: KvMachine): void {
    const { states } = this.records
    if (states.has(machine.revision)) return
    const names = [...keyNames(this.options.keys), ...mergedNames, `${KEY_PREFIX}end`, ...PAIR_KEYS]
    const values = machine.read([READ.multiGet, names.map(utf8)]) as (Uint8Array | null)[]
    const rows = new Map<string, string>()
    names.forEach((name, at) => {
      const value = values[at]
      if (value instanceof Uint8Array) rows.set(name, text(value))
    })
    states.applied(machine.revision, rows)
  }

  /** Those who are members, as their leader knows it. */
  membersNow(): readonly MemberServer[] {
    const raft = this.leader()?.member?.replica.node.raft
    return this.servers.filter(({ id }) => raft === undefined || raft.membership.peers[id] !== undefined)
  }

  leader(): MemberServer | undefined {
    let found: MemberServer | undefined
    for (const server of this.servers) {
      const raft = server.member?.replica.node.raft
      if (raft?.role !== 'leader') continue
      const best = found?.member?.replica.node.raft.term ?? -1
      if (raft.term > best) found = server
    }
    return found
  }
}
