// Driver: the simulated world of one seed of the whole profile: whole members, clients, and the networks
// between them.

import { type Random, seededRandom, text, utf8 } from '@latchkey/base'
import type { Route } from '@latchkey/client'
import type { KvMachine } from '@latchkey/kv'
import { type LinkRequest, READ } from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import type { Applied } from '@latchkey/raft/node'
import { Client, type Reachability } from './clients/client.js'
import { embeddedRoute, remoteRoute } from './clients/routes.js'
import { CallRecords } from './clients/call-records.js'
import { KEY_PREFIX, keyNames, mergedNames } from './clients/kv-workers.js'
import { PAIR_KEYS } from './clients/pair-worker.js'
import type { Law } from '../laws/law.js'
import { World, type WorldMode } from '../world/world.js'
import { type Host, type HostProcess, MemoryNetwork, type NetworkOptions } from '@latchkey/raft/memory'
import type { ProductModules } from './product-modules.js'
import { LawBroken } from '../laws/verdict.js'
import { AppliedLog } from './applied-log.js'
import { OneHolder } from './laws/one-holder.js'
import { KeyExpiry } from './laws/key-expiry.js'
import { OneClusterLaw } from './laws/one-cluster.js'
import { NewLeaderInTime } from './laws/new-leader-in-time.js'
import { AppliedOnce } from './laws/applied-once.js'
import { BarriersAndLatches } from './laws/barriers-and-latches.js'
import { RenewedHolds } from './laws/renewed-holds.js'
import { LockHistory } from './laws/lock-history.js'
import { MemberServer, serverOptions, type ServerPorts } from './members/member-server.js'
import { ClientNetwork } from '../../../../packages/latchkey/dist/test-cluster/client-network.js'
import { spreadOf, type WholeOptions, type WholeWorkload } from './options.js'
import { listen } from './product-probes.js'
import { watchMachine } from './watch-machine.js'
import { clientsReachLeader, reachesLeader } from './reaches-leader.js'

type Note = Parameters<LockHistory['applied']>[2][number]
type RaftView = Parameters<ServerPorts['role']>[1]

export interface WholeMode extends WorldMode {
  /** The product for a member of another cluster, if a fault needs such a member. */
  readonly foreignProduct?: ProductModules | undefined
}

export type Workers = (client: Client) => void

/** In these workloads the clients make calls all the time. */
const ALWAYS_ASKING: ReadonlySet<WholeWorkload> = new Set(['kv', 'power', 'snapshots'])

/** In µs, the time until a connection is made. */
const DIAL_TIMES = { first: [500, 15_000], afterEnd: [500, 30_000], again: [20_000, 120_000] } as const

const MEMBERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

export class WholeWorld extends World<MemberServer> {
  readonly options: WholeOptions
  readonly product: ProductModules
  readonly foreignProduct: ProductModules | undefined
  readonly records: CallRecords
  readonly log = new AppliedLog()
  readonly locks: LockHistory
  readonly holds: OneHolder
  readonly renewed: RenewedHolds
  readonly barriers: BarriersAndLatches
  readonly idempotency = new AppliedOnce()
  readonly expiry = new KeyExpiry()
  readonly reach: NewLeaderInTime
  readonly oneCluster = new OneClusterLaw()
  /** A member of another cluster, at the address of a member of this cluster. */
  foreign: MemberServer | undefined
  readonly network: MemoryNetwork
  readonly clientNetwork: ClientNetwork
  readonly clients: Client[] = []
  /** The operators whose change of members has not ended yet. */
  readonly operators = new Set<Client>()
  /** The value of each key at the end of the run. */
  readonly finals = new Map<string, string | undefined>()
  readonly #workers: Workers
  readonly networkOptions: NetworkOptions
  #ids = 0

  constructor(options: WholeOptions, product: ProductModules, workers: Workers, mode: WholeMode = {}) {
    super(seededRandom(`whole-run/${options.seed}`), mode, {
      fastest: 1 + Math.max(options.drift, spreadOf(options)),
      clamp: options.electionTimeout,
    })
    this.options = options
    this.foreignProduct = mode.foreignProduct
    this.product = product
    this.#workers = workers
    this.records = new CallRecords(this.time, options)
    this.renewed = new RenewedHolds(options.drift)
    this.barriers = new BarriersAndLatches(2 + (options.seed % 3), 1 + (options.seed % 4))
    // A single member's client that connects while the member is down waits for this connection.
    const hasOthers = options.members >= 3
    this.reach = new NewLeaderInTime(
      options.electionTimeout,
      hasOthers && ALWAYS_ASKING.has(options.workload),
    )
    this.holds = new OneHolder(this.time, options.clocks !== 'beyond')
    this.locks = new LockHistory(this.log, (event) => this.note(() => JSON.stringify(event)))
    const { netBase: base, netTail: tail, pulse, encoded } = options
    const closing = { within: 4 * base + 2_000, gap: 1 }
    const networkOptions = { base, tail, pulse, closing, encoded, codec: product, dial: DIAL_TIMES }
    this.networkOptions = networkOptions
    this.network = new MemoryNetwork(this.time, this.cuts, this.random.fork('wires'), networkOptions, (id) =>
      this.#refuses(id),
    )
    this.clientNetwork = new ClientNetwork(
      this.time,
      this.cuts,
      this.random.fork('dials'),
      { ...networkOptions, dialling: [2 * base, 2 * base + 2_000] },
      (url) => (this.foreign?.url === url ? this.foreign : this.members.find((one) => one.url === url)),
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
      granted: (tx, row) => this.locks.granted(tx, row),
      left: (tx, row) => this.locks.left(tx, row),
      entry: (tx, reader) => this.locks.entry(tx, reader),
      touched: (tx, row) => this.locks.touched(tx, row),
      command: (reader) => this.locks.command(reader),
    })
    for (const server of this.members) server.boot()
    for (let i = 0; i < this.options.clients; i++) this.#startRemote(this.newHost(`p${i}`))
  }

  // ---- machines

  newHost(name: string): Host {
    const random = this.random.fork(`host-${name}`)
    return this.addHost(name, random, {
      rate: this.#rate(random),
      uptime: random.between(1_000, 10_000_000),
      wallAhead: 1_700_000_000_000 + random.between(-20_000, 20_000),
    })
  }

  #rate(random: Random): number {
    const spread = spreadOf(this.options)
    if (this.options.clocks === 'near') return 1 + (random.float() * 2 - 1) * spread
    return random.chance(0.5) ? 1 + spread : 1 - spread
  }

  addServer(joins: boolean): MemberServer {
    const id = MEMBERS[this.members.length] as string
    const founders = MEMBERS.slice(0, this.options.members)
    const members = Object.fromEntries(founders.map((one) => [one, `ws://${one}`]))
    const server = new MemberServer(
      id,
      serverOptions(this.options, joins ? { ...members, [id]: `ws://${id}` } : members),
      {
        product: this.product,
        host: this.newHost(id),
        memberNetwork: this.network,
        random: this.random.fork(`station-${id}`),
        logger: this.logger,
        newId: () => this.newId(),
        laws: this.laws,
        judge: (part) => this.judge(part),
        note: (line) => this.note(line),
        machine: (at, life, machine) => this.#watchMachine(at, life, machine),
        opened: (at, life) => this.#opened(at, life),
        role: (at, raft) => this.#roleChanged(at, raft),
        failed: (at, error) => this.#stopped(at, error),
      },
      joins,
    )
    this.members.push(server)
    return server
  }

  /** Adds a client process that knows the addresses of this cluster. */
  addRemote(): Host {
    const host = this.newHost(`p${this.hosts.length}`)
    this.#startRemote(host)
    return host
  }

  newId(): string {
    return `id-${++this.#ids}`
  }

  #refuses(id: string): boolean {
    const server = this.members.find((one) => one.id === id)
    return server !== undefined && !server.host.dark
  }

  protected get ownLaw(): Law {
    return {
      name: 'stamps',
      persisting: (_, { entries }) => {
        for (const entry of entries) this.log.appended(entry, this.time.now)
      },
    }
  }

  protected override cutsChanged(): void {
    super.cutsChanged()
    this.clientNetwork.changed()
  }

  // ---- clients

  #startRemote(host: Host): void {
    const life = host.start()
    const seeds = this.members.filter(({ retired }) => !retired).map(({ url }) => url)
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

  get duration(): number {
    return this.options.duration * 1000
  }

  get counts(): Readonly<Record<string, number>> {
    const { elections, snapshots, changes } = this.laws.counts
    return {
      elections,
      snapshots,
      'membership entries': changes,
      entries: this.log.last.index,
      calls: this.records.done,
      holds: this.holds.count,
      'histories too long to judge': this.records.history.undecided,
    }
  }

  restartClient(host: Host): void {
    host.die()
    this.#startRemote(host)
  }

  /** Gives new addresses to clients whose known members are all gone. In production an operator does this. */
  findMembersAgain(): void {
    for (const { life, findsMembers } of [...this.clients])
      if (!life.dead && !findsMembers && life.host.name.startsWith('p')) this.restartClient(life.host)
  }

  #opened(server: MemberServer, life: HostProcess): void {
    this.note(() => `${server.id} is open`)
    if (this.members.indexOf(server) >= this.options.embedded) return
    // A removed member that starts again cannot know whether it was removed or waits to be added.
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

  #roleChanged({ id }: MemberServer, { role, term, leader }: RaftView): void {
    this.note(() => `${id} is ${role} of term ${term}, led by ${leader ?? 'nobody'}`)
    if (role !== 'leader') return
    this.reach.changed(this.time.now)
  }

  #asked(life: HostProcess, request: LinkRequest): void {
    this.locks.asked(life, request)
    this.renewed.asked(life, request)
    if (request.kind === 'command' || request.kind === 'read') this.reach.asked(life, this.time.now)
  }

  protected override look(): void {
    this.holds.look(this.locks.forced)
    this.renewed.look()
    this.reach.look(this.time.now, (life) => {
      const server = this.members.find(({ host }) => host.life === life)
      return server === undefined ? clientsReachLeader(this) : reachesLeader(this, server)
    })
  }

  #watchMachine(server: MemberServer, life: HostProcess, machine: KvMachine): void {
    const { laws } = this
    const judge = (part: () => void) => life.dead || this.judge(part)
    watchMachine(machine, {
      during: (apply) => this.locks.during(apply),
      applied: (entries, results, notes) =>
        judge(() => this.#applied(server, machine, entries, results, notes)),
      installed: (position, membership) =>
        judge(() => laws.installed(server.id, position, membership, machine.stateHash())),
      installFailed: () => judge(() => laws.installFailed(server.id)),
    })
  }

  #applied(
    server: MemberServer,
    machine: KvMachine,
    entries: readonly Entry[],
    results: readonly Applied[],
    notes: readonly (readonly Note[])[],
  ): void {
    // A joining member knows no members before an entry lists them. The first members know them at the start.
    const known = server.member?.replica.node.applied.membership.voters.length ?? 0
    entries.forEach((entry, i) => {
      const result = results[i]
      if (result === undefined)
        throw new LawBroken('one log', `entry ${entry.index} was applied without a result`)
      this.laws.applied(server.id, {
        entry,
        answers: result.answers?.map(({ bytes }) => bytes),
        state: known > 0 && i === entries.length - 1 ? machine.stateHash() : undefined,
      })
      if (!this.log.applied(entry)) return
      this.locks.applied(entry, result, notes[i] ?? [])
      this.expiry.applied(entry, result)
    })
    this.expiry.look(machine.position.index, {
      isThere: (key) => machine.read([READ.contains, key]) === true,
      isOpen: (session) => machine.openSessions.openerOf(session) !== undefined,
    })
    this.#stateApplied(machine)
  }

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

  /** Returns the present members, as their leader knows them. */
  membersNow(): readonly MemberServer[] {
    const raft = this.leader()?.member?.replica.node.raft
    return this.members.filter(({ id }) => raft === undefined || raft.membership.peers[id] !== undefined)
  }
}
