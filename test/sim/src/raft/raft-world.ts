// Driver: the simulated world of one seed of the Raft profile: members with registers, clients and the
// network.

import { seededRandom } from '@latchkey/base'
import type { MemberId, Membership, Message } from '@latchkey/raft/core'
import { MemoryNetwork, type NetworkOptions } from '@latchkey/raft/memory'
import { History } from '../history/history.js'
import type { Law } from '../laws/law.js'
import { World, type WorldMode } from '../world/world.js'
import { Clients } from './register-clients.js'
import { RaftMember } from './raft-member.js'
import type { RaftModules } from './raft-modules.js'
import type { Options } from './options.js'

export interface RunMode extends WorldMode {
  /** For scenarios: timers are exact, and a member that stops by itself is not started again. */
  readonly directed?: boolean
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** How many members can be added to the first members. */
const SPARES = 4
/** In µs. Two members that can connect have connected within this time. */
const DIAL_TIMES = { first: [200, 3_000], afterEnd: [500, 10_000], again: [10_000, 60_000] } as const

const DIRECTED_DIAL_TIMES = { first: [200, 300], afterEnd: [500, 1_000], again: [1_000, 2_000] } as const

export class RaftWorld extends World<RaftMember> {
  readonly options: Options
  readonly modules: RaftModules
  readonly network: MemoryNetwork
  readonly #network: Mutable<NetworkOptions>
  readonly history = new History()
  readonly clients: Clients
  loss: number
  drops: (message: Message) => boolean = () => false
  crashes = 0
  sent = 0
  readonly #mode: RunMode
  /** The highest acknowledged index. Each later read must see the write at this index. */
  #floor = 0

  constructor(options: Options, modules: RaftModules, mode: RunMode = {}) {
    super(seededRandom(options.seed).fork('world'), mode, {
      fastest: 1 + options.drift,
      clamp: options.member.electionTimeout,
    })
    this.options = options
    this.modules = modules
    this.#mode = mode
    this.loss = options.network.unreliable?.loss ?? 0
    this.#network = this.#networkOptions()
    this.network = new MemoryNetwork(
      this.time,
      this.cuts,
      this.random.fork('network'),
      this.#network,
      (id) => this.find(id)?.host.dark === false,
    )
    const founders = Array.from({ length: options.members }, (_, i) => idOf(i))
    for (const id of founders) this.#addMember(id, founders)
    this.clients = new Clients(
      this,
      this.random.fork('clients'),
      options.client,
      this.history,
      () => this.#floor,
    )
  }

  #networkOptions(): NetworkOptions {
    const { base, tail, pulse, encoded, unreliable } = this.options.network
    const random = this.random.fork('loss')
    const loses = () => this.loss > 0 && random.chance(this.loss)
    return {
      base,
      tail,
      pulse,
      closing: { within: 4 * base + 2_000, gap: 1 },
      encoded,
      codec: this.modules,
      dial: this.#mode.directed === true ? DIRECTED_DIAL_TIMES : DIAL_TIMES,
      unreliable: unreliable && { ...unreliable, loses },
    }
  }

  /** From now on the network works: no message is cut off, lost, doubled or very late. */
  calm(): void {
    const longest = this.options.member.electionTimeout * 100
    this.#network.unreliable = undefined
    this.#network.base = Math.min(this.#network.base, longest)
    this.#network.tail = Math.min(this.#network.tail, longest)
    this.cuts.heal()
    // If only one side knows that a connection is over, messages are lost until the other side notices.
    for (const connection of this.network.connections()) connection.break()
  }

  protected get ownLaw(): Law {
    return {
      name: 'floor',
      acknowledged: ({ index }) => {
        this.#floor = Math.max(this.#floor, index)
      },
    }
  }

  #addMember(id: MemberId, founders: readonly MemberId[] | undefined): RaftMember {
    const { drift } = this.options
    const random = this.random.fork(`host/${id}`)
    const host = this.addHost(id, random, {
      rate: 1 + (random.float() * 2 - 1) * drift,
      uptime: random.between(0, 1e9),
      wallAhead: random.between(-20_000, 20_000),
      ...(this.#mode.directed === true && { lateness: () => 0 }),
    })
    const member = new RaftMember(id, {
      modules: this.modules,
      options: this.options,
      host,
      network: this.network,
      laws: this.laws,
      random: this.random.fork(`member/${id}`),
      logger: this.logger,
      founders,
      sends: (message) => {
        this.sent++
        return !this.drops(message)
      },
      answer: (from, request, answer) => this.clients.answered(from, request, answer),
      judge: (part) => this.judge(part),
      note: (line) => this.note(line),
      crashed: (one) => this.#crashed(one),
      failed: (one, error) => {
        this.note(() => `${one.id} stopped by itself`)
        this.time.fail(error)
      },
    })
    this.members.push(member)
    return member
  }

  #crashed(member: RaftMember): void {
    if (this.#mode.directed === true) return
    this.crashes++
    const { random } = this
    const longest = this.options.member.electionTimeout * 2_000
    this.time.later(random.between(1_000, random.chance(0.5) ? longest / 20 : longest), () => member.boot())
  }

  get duration(): number {
    return this.options.duration
  }

  get counts(): Readonly<Record<string, number>> {
    const { elections, snapshots, changes, commits } = this.laws.counts
    const { crashes, history } = this
    return {
      elections,
      crashes,
      snapshots,
      'membership entries': changes,
      entries: commits,
      calls: history.size,
    }
  }

  start(): void {
    for (const member of this.members) member.boot()
  }

  /** Returns a new member that waits to be added. Undefined if there are enough members. */
  recruit(): RaftMember | undefined {
    if (this.members.length >= this.options.members + SPARES) return undefined
    const member = this.#addMember(idOf(this.members.length), undefined)
    member.boot()
    return member
  }

  /** Returns the members that are not in the configuration and may be added. */
  idle({ voters, outgoing, learners }: Membership): readonly RaftMember[] {
    const inside = new Set([...voters, ...outgoing, ...learners])
    return this.members.filter(({ id, rotten }) => !inside.has(id) && !rotten)
  }

  crash(member: RaftMember, power: boolean): void {
    if (member.isUp) this.crashes++
    member.crash(power)
  }
}

const idOf = (number: number): MemberId => String.fromCharCode(97 + number)
