// Driver: the whole world of one seed: members, clients, their machines and the ways between them.

import { type Logger, type Random, seededRandom, silentLogger, text, utf8 } from '@latchkey/base'
import type { Route } from '@latchkey/client'
import type { KvMachine } from '@latchkey/kv'
import { type LinkRequest, READ } from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import { Client, type Way } from './clients/crew.js'
import { embeddedRoute, remoteRoute } from './clients/routes.js'
import { Desk } from './clients/desk.js'
import { KEY_PREFIX, keyNames, mergedNames } from './clients/kv-workers.js'
import { PAIR_KEYS } from './clients/pair-worker.js'
import { Ground } from './ground/ground.js'
import { Cuts, Host, type HostProcess, MemoryNetwork, type NetworkOptions } from '@latchkey/raft/memory'
import type { House } from './house.js'
import { LawBroken } from '../laws/broken.js'
import { Holds } from './judge/holds.js'
import { KeyLives } from './judge/key-lives.js'
import { OneClusterLaw } from './judge/one-cluster.js'
import { Reach } from './judge/reach.js'
import { Meetings } from './judge/meetings.js'
import { Renewed } from './judge/renewed.js'
import { Leaders } from './judge/leaders.js'
import { LockStory } from './judge/lock-story.js'
import { LogStory } from './judge/log-story.js'
import { Station, stationOptions, type StationPorts } from './members/station.js'
import { ClientNetwork } from '../../../../packages/latchkey/dist/test-cluster/client-network.js'
import { spreadOf, type WholeOptions, type WholeProfile } from './options.js'
import { listen } from './probes.js'

type RaftView = Parameters<StationPorts['role']>[2]
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
  readonly house: House
  /** Of a member of another cluster. */
  readonly foreignHouse: House | undefined
  readonly ground = new Ground()
  readonly random: Random
  readonly desk: Desk
  readonly log: LogStory
  readonly leaders = new Leaders()
  readonly locks: LockStory
  readonly holds: Holds
  readonly renewed: Renewed
  readonly meetings: Meetings
  readonly lives = new KeyLives()
  readonly reach: Reach
  readonly oneCluster = new OneClusterLaw()
  /** A member of another cluster, at the address of one of this one's. */
  foreign: Station | undefined
  readonly cuts: Cuts
  readonly wires: MemoryNetwork
  readonly dials: ClientNetwork
  readonly stations: Station[] = []
  readonly clients: Client[] = []
  /** Who is changing the members, until the last change has come to its end. */
  readonly operators = new Set<Client>()
  readonly trace: string[] = []
  /** What each key held when all was over. */
  readonly finals = new Map<string, string | undefined>()
  readonly #hosts: Host[] = []
  readonly #workers: Workers
  readonly logger: Logger
  readonly ways: NetworkOptions
  #ids = 0
  readonly tracing: boolean

  constructor(options: WholeOptions, house: House, workers: Workers, tracing = false, foreignHouse?: House) {
    this.options = options
    this.foreignHouse = foreignHouse
    this.house = house
    this.tracing = tracing
    this.#workers = workers
    this.random = seededRandom(`whole-run/${options.seed}`)
    this.logger = tracing ? this.#telling() : silentLogger
    this.desk = new Desk(this.ground, options)
    this.log = new LogStory(Math.max(options.drift, spreadOf(options)))
    this.renewed = new Renewed(options.drift)
    this.meetings = new Meetings(2 + (options.seed % 3), 1 + (options.seed % 4))
    // A lone member's clients have nowhere else to go: one that dialled into its darkness waits for that dial.
    const hasOthers = options.members >= 3
    this.reach = new Reach(options.electionTimeout, hasOthers && ALWAYS_ASKING.has(options.profile))
    this.holds = new Holds(this.ground, options.clocks !== 'beyond')
    this.locks = new LockStory(this.log, (event) => this.tracing && this.say(JSON.stringify(event)))
    this.cuts = new Cuts(() => this.#cutsChanged())
    const { netBase: base, netTail: tail, pulse, encoded } = options
    const closing = { within: 4 * base + 2_000, gap: 1 }
    const ways = { base, tail, pulse, closing, encoded, codec: house, dial: DIAL_TIMES }
    this.ways = ways
    this.wires = new MemoryNetwork(this.ground, this.cuts, this.random.fork('wires'), ways, (id) =>
      this.#refuses(id),
    )
    this.dials = new ClientNetwork(
      this.ground,
      this.cuts,
      this.random.fork('dials'),
      { ...ways, dialling: [2 * base, 2 * base + 2_000] },
      (url) => (this.foreign?.url === url ? this.foreign : this.stations.find((one) => one.url === url)),
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
    for (let i = 0; i < options.members; i++) this.addStation(false)
  }

  start(): void {
    listen(this.house, {
      appended: (entries) => this.#appended(entries),
      granted: (tx, row) => this.locks.granted(tx, row),
      left: (tx, row) => this.locks.left(tx, row),
      entry: (tx, reader) => this.locks.entry(tx, reader),
      touched: (tx, row) => this.locks.touched(tx, row),
      command: (reader) => this.locks.command(reader),
    })
    for (const station of this.stations) station.boot()
    for (let i = 0; i < this.options.clients; i++) this.#startRemote(this.addHost(`p${i}`))
  }

  say(text: string): void {
    if (this.tracing) this.trace.push(`${(this.ground.now / 1000).toFixed(3).padStart(10)} ${text}`)
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
    const host = new Host(this.ground, index, name, random, {
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

  addStation(joins: boolean): Station {
    const id = MEMBERS[this.stations.length] as string
    const founders = MEMBERS.slice(0, this.options.members)
    const members = Object.fromEntries(founders.map((one) => [one, `ws://${one}`]))
    const station = new Station(
      id,
      stationOptions(this.options, joins ? { ...members, [id]: `ws://${id}` } : members),
      {
        house: this.house,
        host: this.addHost(id),
        wires: this.wires,
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
    this.stations.push(station)
    return station
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
    const station = this.stations.find((one) => one.id === id)
    return station !== undefined && !station.host.dark
  }

  #cutsChanged(): void {
    this.wires.changed()
    this.dials.changed()
  }

  // ---- clients

  #startRemote(host: Host): void {
    const life = host.start()
    const seeds = this.stations.filter(({ retired }) => !retired).map(({ url }) => url)
    const route = remoteRoute(this, life, seeds)
    const isServed = (url: string) => this.membersNow().some((station) => station.url === url)
    const found = (told: readonly string[]) => [...seeds, ...told].some(isServed)
    this.#startClient(host.name, life, route, { stranded: () => false, untold: () => false, found })
  }

  #startClient(name: string, life: HostProcess, route: Route, way: Way): void {
    const random = this.random.fork(`client-${name}-${this.newId()}`)
    const store = new this.house.ClientStore<'string'>({
      route,
      clock: life.clock,
      random: random.fork('store'),
      newId: () => this.newId(),
      as: 'string',
      sessionLife: this.options.sessionLife,
      drift: this.options.drift,
    })
    const client = new Client(name, life, store, random, this.desk, way)
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

  #opened(station: Station, life: HostProcess): void {
    this.say(`${station.id} is open`)
    if (this.stations.indexOf(station) >= this.options.embedded) return
    // Started anew behind its removal it cannot tell itself from one that waits to be added.
    const openedOutside = station.leftAlone
    const way = {
      stranded: () => station.member?.isLeft === true,
      untold: () => openedOutside && station.leftAlone,
      found: () => station.member?.isOutside === false && this.membersNow().includes(station),
    }
    this.#startClient(`in-${station.id}`, life, embeddedRoute(this, life, station), way)
  }

  // ---- what is seen

  #stopped(station: Station, error: Error): void {
    const { code } = error as { code?: string }
    throw new LawBroken('members live', `${station.id} stopped by itself: ${code} ${error.stack}`)
  }

  #roleChanged({ id }: Station, life: HostProcess, { role, term, leader }: RaftView): void {
    this.say(`${id} is ${role} of term ${term}, led by ${leader ?? 'nobody'}`)
    if (role !== 'leader') return
    this.reach.changed(this.ground.now)
    try {
      this.leaders.leads(term, id, life)
    } catch (error) {
      this.ground.fail(error)
    }
  }

  #asked(life: HostProcess, request: LinkRequest): void {
    this.locks.asked(life, request)
    this.renewed.asked(life, request)
    if (request.kind === 'command' || request.kind === 'read') this.reach.asked(life, this.ground.now)
  }

  /** The laws that are looked at after every event. */
  look(): void {
    this.holds.look(this.locks.forced)
    this.renewed.look()
    this.reach.look(this.ground.now, (life) => {
      const station = this.stations.find(({ host }) => host.life === life)
      return station === undefined ? this.#works() : this.#hasWay(station)
    })
  }

  /** The leader reaches all others that run, and that member reaches the leader or one of those; nothing is slow. */
  #hasWay(from: Station): boolean {
    const leader = this.leader()
    const members = this.membersNow()
    const running = members.filter(({ host }) => host.life?.running === true && !host.dark)
    const reach = (a: Station, b: Station) =>
      !this.cuts.blocked(a.host.index, b.host.index) && !this.cuts.blocked(b.host.index, a.host.index)
    if (leader === undefined || !running.includes(leader) || running.length * 2 <= members.length)
      return false
    const others = running.filter((one) => one !== from && one !== leader)
    const isSlow = ({ slowness, slowUntil }: Station) =>
      slowness > 1 || slowUntil + this.reach.limit > this.ground.now
    if (members.some(isSlow) || !others.every((one) => reach(leader, one))) return false
    return from === leader || reach(from, leader) || others.some((one) => reach(from, one))
  }

  /** One leads whose process runs, most of the others run too, and nothing is cut. */
  #works(): boolean {
    const leader = this.leader()
    const members = this.membersNow()
    const running = members.filter(({ host }) => host.life?.running === true && !host.dark)
    const isCut = this.hosts.some((a) => this.hosts.some((b) => this.cuts.blocked(a.index, b.index)))
    const isSlow = members.some(({ slowness }) => slowness > 1)
    return leader?.host.life?.running === true && running.length * 2 > members.length && !isCut && !isSlow
  }

  #appended(entries: readonly Entry[]): void {
    for (const entry of entries) this.log.appended(entry, this.ground.now)
  }

  /** Looks at everything that is applied; the machine itself does not notice. */
  #watchMachine(station: Station, machine: KvMachine): void {
    const apply = machine.apply.bind(machine)
    machine.apply = (entries, membershipAt) => {
      const { notes, result: results } = this.locks.during(() => apply(entries, membershipAt))
      const told = (given: Awaited<typeof results>) => {
        try {
          look(given)
        } catch (error) {
          this.ground.fail(error)
        }
        return given
      }
      const look = (given: Awaited<typeof results>) => {
        entries.forEach((entry, i) => {
          const result = given[i]
          if (result === undefined)
            throw new LawBroken('one log', `entry ${entry.index} was applied without a result`)
          if (!this.log.applied(station.id, entry, result)) return
          this.locks.applied(entry, result, notes[i] ?? [])
          this.lives.applied(entry, result)
        })
        this.lives.look(machine.position.index, {
          isThere: (key) => machine.read([READ.contains, key]) === true,
          isOpen: (session) => machine.openSessions.openerOf(session) !== undefined,
        })
        this.#stateApplied(machine)
        // Who joins knows no members before an entry names them; founders know them from the start.
        const known = station.member?.replica.node.applied.membership.voters.length ?? 0
        if (known > 0) this.log.hashed(station.id, machine.stateHash())
      }
      return results instanceof Promise ? results.then(told) : told(results)
    }
  }

  /** For the judge of mirrors. */
  #stateApplied(machine: KvMachine): void {
    const { states } = this.desk
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
  membersNow(): readonly Station[] {
    const raft = this.leader()?.member?.replica.node.raft
    return this.stations.filter(({ id }) => raft === undefined || raft.membership.peers[id] !== undefined)
  }

  leader(): Station | undefined {
    let found: Station | undefined
    for (const station of this.stations) {
      const raft = station.member?.replica.node.raft
      if (raft?.role !== 'leader') continue
      const best = found?.member?.replica.node.raft.term ?? -1
      if (raft.term > best) found = station
    }
    return found
  }
}
