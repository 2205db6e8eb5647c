// Test: members in one process, on simulated disks, with a shared manual clock and a network that a test can
// cut.

import { Emitter, seededRandom, silentLogger, text, utf8 } from '@latchkey/base'
import type { MemberId, Message } from '../../core/types.js'
import { ManualClock, MemoryDisk } from '../../memory/index.js'
import type { PeerInfo, Transport, TransportEvents } from '../../net/index.js'
import { Counter } from './counter.js'
import { frameRecord } from '../entry-commands.js'
import type { Outcome } from '../callers-waiting-for-entries.js'
import { Replica } from '../replica.js'
import type { LoopObserver } from '../node-types.js'
import type { ReplicaOptions, TransportOwner } from '../replica-types.js'

class Wire extends Emitter<TransportEvents> implements Transport {
  readonly #world: World
  readonly id: MemberId
  readonly owner: TransportOwner
  readonly boot: number
  #up = new Set<MemberId>()
  #peers: readonly MemberId[] = []

  constructor(world: World, id: MemberId, owner: TransportOwner, boot: number) {
    super()
    this.#world = world
    this.id = id
    this.owner = owner
    this.boot = boot
  }

  info(): PeerInfo {
    return { id: this.id, boot: this.boot, group: 0, level: 1, version: 1, ...this.owner.identity() }
  }

  send(to: MemberId, message: Message): void {
    if (this.connected(to) && !this.#world.isLost(message))
      setImmediate(() => this.#world.wire(to)?.emit('message', message))
  }

  sendApp(to: MemberId, bytes: Uint8Array): boolean {
    if (!this.connected(to)) return false
    setImmediate(() => this.#world.wire(to)?.emit('app', { from: this.id, bytes }))
    return true
  }

  flush(): void {}

  setPeers(peers: Readonly<Record<MemberId, unknown>>): void {
    this.#peers = Object.keys(peers)
    this.look()
  }

  /** Emits 'up' and 'gone' events for members that have become reachable or unreachable. */
  look(): void {
    for (const id of this.#world.ids) {
      const other = this.#world.wire(id)
      const reachable = other !== undefined && this.#peers.includes(id) && this.#world.linked(this.id, id)
      const admitted =
        reachable &&
        other.owner.admit(this.info()) === undefined &&
        this.owner.admit(other.info()) === undefined
      if (admitted === this.#up.has(id)) continue
      if (admitted) this.#up.add(id)
      else this.#up.delete(id)
      const info = other?.info() ?? { ...this.info(), id }
      this.emit('peer', { id, state: admitted ? 'up' : 'gone', info })
      if (other === undefined) this.emit('peer', { id, state: 'dead', info })
    }
  }

  connected(id: MemberId): boolean {
    return this.#up.has(id) && this.#world.linked(this.id, id)
  }

  peer(id: MemberId): PeerInfo | undefined {
    return this.#world.wire(id)?.info()
  }

  recheck(): void {}

  async close(): Promise<void> {
    this.#world.unplug(this.id)
  }
}

interface Seat {
  readonly disk: MemoryDisk
  readonly counter: Counter
  replica: Replica | undefined
  /** How many turns of the event loop the loop has asked for. */
  turns: number
}

export class World {
  readonly clock = new ManualClock()
  readonly ids: MemberId[] = []
  readonly #wires = new Map<MemberId, Wire>()
  readonly #seats = new Map<MemberId, Seat>()
  readonly #cut = new Set<string>()
  readonly #random = seededRandom('world')
  #boots = 0
  #ids = 0

  wire(id: MemberId): Wire | undefined {
    return this.#wires.get(id)
  }

  linked(a: MemberId, b: MemberId): boolean {
    return !this.#cut.has(a) && !this.#cut.has(b)
  }

  unplug(id: MemberId): void {
    this.#wires.delete(id)
    this.look()
  }

  look(): void {
    for (const wire of this.#wires.values()) wire.look()
  }

  isolate(id: MemberId): void {
    this.#cut.add(id)
    this.look()
  }

  heal(): void {
    this.#cut.clear()
    this.look()
  }

  /** Returns true if the network loses this message. */
  isLost: (message: Message) => boolean = () => false

  /** The observer of each member that is started. */
  observer: LoopObserver | undefined

  async boot(id: MemberId, options: Partial<ReplicaOptions> = {}): Promise<Replica> {
    if (!this.ids.includes(id)) this.ids.push(id)
    const before = this.#seats.get(id)
    const seat: Seat = {
      disk: before?.disk ?? new MemoryDisk(),
      counter: new Counter(before?.counter.disk),
      replica: undefined,
      turns: 0,
    }
    this.#seats.set(id, seat)
    const urls = Object.fromEntries(this.ids.map((one) => [one, `ws://${one}`]))
    seat.replica = await Replica.open(
      {
        id,
        members: urls,
        join: false,
        electionTimeout: 100,
        heartbeat: 10,
        snapshot: { everyEntries: 1000, everyBytes: 1e6 },
        maxInFlightBytes: 1e8,
        ...options,
      },
      {
        fs: seat.disk,
        dir: 'log',
        clock: this.clock,
        random: this.#random.fork(`${id}/${this.#boots}`),
        defer: (run) => {
          seat.turns++
          setImmediate(run)
        },
        logger: silentLogger,
        machine: seat.counter,
        observer: this.observer,
        transport: (owner) => {
          const wire = new Wire(this, id, owner, ++this.#boots)
          this.#wires.set(id, wire)
          return wire
        },
        newId: () => `id-${++this.#ids}`,
      },
    )
    this.look()
    return seat.replica
  }

  seat(id: MemberId): Seat {
    return this.#seats.get(id) as Seat
  }

  /** Ends the member's process at once. Its disk keeps the synced data. */
  crash(id: MemberId): void {
    const seat = this.seat(id)
    seat.disk.crash(this.#random)
    void seat.replica?.node.close()
    seat.replica = undefined
    this.unplug(id)
  }

  /** Advances the time in small steps, and runs all timers that become due. */
  async run(ms: number): Promise<void> {
    for (let t = 0; t < ms; t += 2) {
      this.clock.advance(2)
      for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Runs all timers that are due now, without advancing the time. */
  async settle(): Promise<void> {
    for (let i = 0; i < 40; i++) await new Promise((resolve) => setImmediate(resolve))
  }

  async until(what: () => boolean, ms = 5_000): Promise<void> {
    for (let t = 0; t < ms && !what(); t += 10) await this.run(10)
    if (!what()) throw new Error(`not within ${ms} ms`)
  }

  leader(): Replica | undefined {
    const leaders = this.ids
      .map((id) => this.#seats.get(id)?.replica)
      .filter((one) => one?.node.role === 'leader')
    return leaders.sort((a, b) => (b?.node.raft.term ?? 0) - (a?.node.raft.term ?? 0))[0]
  }

  /** Starts a cluster of three and waits for a leader. */
  async three(options: Parameters<World['boot']>[1] = {}): Promise<Replica> {
    this.ids.push('a', 'b', 'c')
    for (const id of ['a', 'b', 'c']) await this.boot(id, options)
    return this.elect()
  }

  async elect(): Promise<Replica> {
    await this.until(
      () =>
        this.leader() !== undefined && this.leader()?.node.raft.commit === this.leader()?.node.raft.lastIndex,
    )
    return this.leader() as Replica
  }

  /** Submits a command and waits for its result. */
  submit(replica: Replica, word: string): Promise<Outcome> {
    return new Promise((resolve) => replica.node.submit(frameRecord(utf8(word)), resolve))
  }

  async add(replica: Replica, word: string): Promise<string> {
    const outcome = this.submit(replica, word)
    await this.run(30)
    const told = await outcome
    return told.type === 'applied' ? text(told.answer.bytes) : told.type
  }

  async close(): Promise<void> {
    for (const seat of this.#seats.values()) await seat.replica?.close()
  }
}
