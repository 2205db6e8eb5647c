// Driver: the world of one seed: machines, members and clients, the network between them, and the laws that
// watch. What happens is a function of the seed, the options and the list of faults, to the byte.

import { type Logger, type Random, seededRandom, silentLogger } from '@latchkey/base'
import type { MemberId, Membership, Message } from '@latchkey/raft/core'
import { Cuts, Host, MemoryNetwork, type NetworkOptions } from '@latchkey/raft/memory'
import { History } from '../history/history.js'
import { allLaws, outerLaws } from '../laws/all.js'
import { LawBroken } from '../laws/verdict.js'
import { LawChecker } from '../laws/law-checker.js'
import { VirtualTime } from '../world/virtual-time.js'
import { Clients } from './register-clients.js'
import { RaftMember } from './raft-member.js'
import type { RaftModules } from './raft-modules.js'
import type { Options } from './options.js'

export interface RunMode {
  readonly trace?: boolean
  /** Leaves out the laws that notice a wrong step before it has done harm. */
  readonly outerOnly?: boolean
  /** Timers are exact, and who stops by itself is not started again: for scenarios. */
  readonly directed?: boolean
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Members beyond the founders. */
const SPARES = 4
/** Microseconds from the moment when two members may connect until they do. */
const DIAL_TIMES = { first: [200, 3_000], afterEnd: [500, 10_000], again: [10_000, 60_000] } as const

const DIRECTED_DIAL_TIMES = { first: [200, 300], afterEnd: [500, 1_000], again: [1_000, 2_000] } as const

const lateness = (random: Random): number =>
  random.chance(0.02) ? random.between(0, 20_000) : random.between(0, 300)

export class RaftWorld {
  readonly options: Options
  readonly modules: RaftModules
  readonly time = new VirtualTime()
  readonly random: Random
  readonly laws: LawChecker
  readonly cuts: Cuts
  readonly network: MemoryNetwork
  readonly #network: Mutable<NetworkOptions>
  readonly members: RaftMember[] = []
  readonly history = new History()
  readonly clients: Clients
  readonly trace: string[] = []
  /** Share of messages that are lost now. */
  loss: number
  /** A scenario keeps messages back. */
  drops: (message: Message) => boolean = () => false
  crashes = 0
  sent = 0
  readonly #mode: RunMode
  readonly #logger: Logger
  /** The highest acknowledged index; what a read must reflect. */
  #floor = 0

  constructor(options: Options, modules: RaftModules, mode: RunMode = {}) {
    this.options = options
    this.modules = modules
    this.#mode = mode
    this.random = seededRandom(options.seed).fork('world')
    this.laws = this.#makeWatch()
    this.#logger = mode.trace === true ? this.#tracing() : silentLogger
    this.cuts = new Cuts(() => this.network.changed())
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

  /** The network works from now on, over new connections: nothing is cut, lost, doubled or very late. */
  calm(): void {
    const longest = this.options.member.electionTimeout * 100
    this.#network.unreliable = undefined
    this.#network.base = Math.min(this.#network.base, longest)
    this.#network.tail = Math.min(this.#network.tail, longest)
    this.cuts.heal()
    // A connection of which one end knows that it is over would lose messages until the other end notices.
    for (const connection of this.network.connections()) connection.break()
  }

  #makeWatch(): LawChecker {
    const bounds = {
      fastest: 1 + this.options.drift,
      clamp: this.options.member.electionTimeout,
      steps: (until: number) => this.#stepsUntil(until),
    }
    const decode = (data: Uint8Array) => {
      const membership = this.modules.decodeMembership(data)
      if (membership === undefined)
        throw new LawBroken('committed-configuration', 'a configuration cannot be read')
      return membership
    }
    const remember = () => ({
      name: 'floor',
      acknowledged: ({ index }: { index: number }) => {
        this.#floor = Math.max(this.#floor, index)
      },
    })
    const laws = this.#mode.outerOnly === true ? outerLaws(bounds) : allLaws(bounds, decode)
    return new LawChecker(decode, [...laws, remember])
  }

  #stepsUntil(until: number): number {
    let count = 0
    for (const { host } of this.members) for (const { at } of host.clock.steps) if (at <= until) count++
    return count
  }

  #addMember(id: MemberId, founders: readonly MemberId[] | undefined): RaftMember {
    const { drift } = this.options
    const random = this.random.fork(`host/${id}`)
    const host = new Host(this.time, this.members.length, id, random, {
      rate: 1 + (random.float() * 2 - 1) * drift,
      uptime: random.between(0, 1e9),
      wallAhead: random.between(-20_000, 20_000),
      lateness: this.#mode.directed === true ? () => 0 : lateness,
    })
    const member = new RaftMember(id, {
      modules: this.modules,
      options: this.options,
      host,
      network: this.network,
      laws: this.laws,
      random: this.random.fork(`member/${id}`),
      logger: this.#logger,
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

  start(): void {
    for (const member of this.members) member.boot()
  }

  /** A new, empty member that waits to be added; undefined when there are enough. */
  recruit(): RaftMember | undefined {
    if (this.members.length >= this.options.members + SPARES) return undefined
    const member = this.#addMember(idOf(this.members.length), undefined)
    member.boot()
    return member
  }

  /** Members that are in no configuration any more, or not yet, and may be added. */
  idle({ voters, outgoing, learners }: Membership): readonly RaftMember[] {
    const inside = new Set([...voters, ...outgoing, ...learners])
    return this.members.filter(({ id, rotten }) => !inside.has(id) && !rotten)
  }

  find(id: MemberId): RaftMember | undefined {
    return this.members.find((member) => member.id === id)
  }

  /** Whoever leads the highest term. */
  leader(): RaftMember | undefined {
    let found: RaftMember | undefined
    let best = -1
    for (const member of this.members) {
      const view = member.view
      if (view?.role !== 'leader' || view.term <= best) continue
      found = member
      best = view.term
    }
    return found
  }

  crash(member: RaftMember, power: boolean): void {
    if (member.isUp) this.crashes++
    member.crash(power)
  }

  judge(part: () => void): void {
    try {
      part()
    } catch (error) {
      this.time.fail(error)
    }
  }

  run(until: number, done?: () => boolean): Promise<void> {
    return this.time.run(until, () => {}, done)
  }

  note(line: () => string): void {
    if (this.#mode.trace !== true) return
    this.trace.push(`${(this.time.now / 1000).toFixed(3).padStart(11)} ${line()}`)
    if (this.trace.length > 200_000) this.trace.splice(0, 100_000)
  }

  #tracing(): Logger {
    const line = (message: string, fields?: object) =>
      this.note(() => `${message} ${JSON.stringify(fields ?? {})}`)
    return { debug: () => {}, info: line, warn: line, error: line }
  }
}

const idOf = (number: number): MemberId => String.fromCharCode(97 + number)
