// Driver: one run made of its options: the world, its members, clients, faults and laws.

import { seededRandom } from '@latchkey/base'
import type { MemberId, Membership } from '@latchkey/raft/core'
import { Clients } from '../clients/client.js'
import { History } from '../history/history.js'
import { allLaws, outerLaws } from '../laws/all.js'
import { LawBroken } from '../laws/broken.js'
import { Watch } from '../laws/watch.js'
import { bootCore } from '../member/boot.js'
import type { CoreModule } from '../member/core-module.js'
import { JOURNAL } from '../member/journal.js'
import { markedLength } from '../member/recover.js'
import { type Cluster, peerOf } from '../swarm/membership.js'
import type { Options } from '../swarm/options.js'
import { VirtualClock } from '@latchkey/raft/memory'
import type { ClientConnection } from '../world/seat.js'
import { World } from '../world/world.js'

const SPARES = 4
const NOBODY: Membership = { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} }

export interface RunMode {
  readonly trace?: boolean
  /** Leaves out the laws that notice a wrong step before it has done harm. */
  readonly outerOnly?: boolean
}

export class Simulation implements Cluster {
  readonly options: Options
  readonly world: World
  readonly history = new History()
  readonly clients: Clients
  readonly rotten = new Set<MemberId>()
  readonly drift: number
  readonly electionTimeout: number
  readonly stepsClocks: boolean
  readonly #core: CoreModule
  readonly #founders: Membership
  #floor = 0

  constructor(options: Options, core: CoreModule, mode: RunMode = {}) {
    this.options = options
    this.drift = options.drift
    this.electionTimeout = options.member.electionTimeout
    this.stepsClocks = options.faults.step > 0
    this.#core = core
    const random = seededRandom(options.seed).fork('world')
    const watch = this.#makeWatch(core, mode.outerOnly === true)
    this.world = new World({
      random,
      watch,
      network: options.network,
      tickEvery: options.tickEvery,
      goneAfter: options.goneAfter > 0 ? options.goneAfter : undefined,
      trace: mode.trace === true,
    })
    this.#founders = founders(options.members)
    for (const id of this.#founders.voters) this.#seat(id, this.#founders)
    this.clients = new Clients(
      this.world,
      random.fork('clients'),
      options.client,
      this.history,
      () => this.#floor,
    )
  }

  start(): void {
    for (const seat of this.world.seats) this.world.start(seat)
    this.clients.start(this.options.clients)
  }

  #makeWatch(core: CoreModule, outerOnly: boolean): Watch {
    const bounds = {
      fastest: 1 + this.options.drift,
      clamp: this.options.member.electionTimeout,
      steps: (until: number) => this.#stepsUntil(until),
    }
    const decode = (data: Uint8Array) => {
      const membership = core.decodeMembership(data)
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
    const laws = outerOnly ? outerLaws(bounds) : allLaws(bounds, decode)
    return new Watch(decode, [...laws, remember])
  }

  #stepsUntil(until: number): number {
    let count = 0
    for (const { clock } of this.world.seats) {
      for (const { at } of clock.steps) if (at <= until) count++
    }
    return count
  }

  #seat(id: MemberId, membership: Membership): ClientConnection {
    const random = this.world.random.fork(`clock/${id}`)
    const rate = 1 + (random.float() * 2 - 1) * this.options.drift
    const clock = new VirtualClock(rate, random.between(0, 1e9), random.between(-20_000, 20_000))
    const boot = bootCore(this.#core, this.options.member)
    return this.world.seat(id, clock, this.options.disk, boot, { membership })
  }

  // ---- what the nemesis may do to the members

  recruit(): ClientConnection | undefined {
    if (this.world.seats.length >= this.options.members + SPARES) return undefined
    const id = String.fromCharCode(97 + this.world.seats.length)
    const seat = this.#seat(id, NOBODY)
    this.world.start(seat)
    return seat
  }

  rot(seat: ClientConnection, place: number, bit: number): boolean {
    const length = markedLength(seat.disk)
    if (length === 0) return false
    seat.disk.rot(JOURNAL, Math.floor(place * length), Math.floor(bit * 8))
    return true
  }

  idle({ voters, outgoing, learners }: Membership): readonly ClientConnection[] {
    const inside = new Set([...voters, ...outgoing, ...learners])
    return this.world.seats.filter(({ id }) => !inside.has(id) && !this.rotten.has(id))
  }
}

export function founders(count: number): Membership {
  const voters = Array.from({ length: count }, (_, i) => String.fromCharCode(97 + i))
  return { ...NOBODY, voters, peers: Object.fromEntries(voters.map((id) => [id, peerOf(id)])) }
}
