// Driver: a small, calm world for directed scenarios: no loss, no chance in the network, and a script that
// says what breaks.
//
// All laws watch as in any run; a scenario only says what else must come out.

import type { MemberId, Message } from '@latchkey/raft/core'
import type { Answer, MemberView, Request } from '../member/port.js'
import type { CoreModule } from '../member/core-module.js'
import { drawOptions, type MemberOptions, type Options } from '../swarm/options.js'
import type { DiskStep } from '../world/disk.js'
import type { ClientConnection } from '../world/seat.js'
import { type RunMode, Simulation } from '../run/simulation.js'

export class ScenarioFailed extends Error {
  override readonly name = 'ScenarioFailed'
}

export interface StageOptions {
  readonly members: number
  readonly electionTimeout?: number
  readonly member?: Partial<MemberOptions>
  /** Microseconds of a sync. */
  readonly sync?: number
  /** Microseconds of every message. */
  readonly delay?: number
  readonly goneAfter?: number
  /** All members tick at the same instants. */
  readonly alignedTicks?: boolean
  readonly seed?: number
}

const MS = 1000

export class Stage {
  readonly simulation: Simulation
  readonly electionTimeout: number
  readonly #dropped: ((message: Message) => boolean)[] = []
  readonly #answers = new Map<number, Answer>()

  constructor(core: CoreModule, options: StageOptions, mode: RunMode = {}) {
    this.electionTimeout = options.electionTimeout ?? 200
    this.simulation = new Simulation(calm(options, this.electionTimeout), core, mode)
    const { world } = this.simulation
    world.alignedTicks = options.alignedTicks === true
    world.network.filter = ({ message }) =>
      this.#dropped.some((drops) => drops(message as Message)) ? 'drop' : 'pass'
    const learn = world.onAnswer
    world.onAnswer = (from, request, answer) => {
      this.#answers.set(request.id, answer)
      learn(from, request, answer)
    }
    for (const seat of world.seats) world.start(seat)
  }

  seat(id: MemberId): ClientConnection {
    const seat = this.simulation.world.find(id)
    if (seat === undefined) throw new ScenarioFailed(`there is no member ${id}`)
    return seat
  }

  view(id: MemberId): MemberView {
    const view = this.seat(id).member?.view
    if (view === undefined) throw new ScenarioFailed(`${id} is down`)
    return view
  }

  get now(): number {
    return this.simulation.world.now / MS
  }

  // ---- time

  run(millis: number): this {
    const { world } = this.simulation
    if (world.runUntil(world.now + millis * MS, 3_000_000) === 'storm') this.fail('a storm of messages')
    return this
  }

  runTimeouts(count: number): this {
    return this.run(count * this.electionTimeout)
  }

  /** Until it holds; else the scenario has failed. */
  until(what: string, holds: () => boolean, millis = 20 * this.electionTimeout): this {
    const end = this.now + millis
    while (!holds()) {
      if (this.now >= end) this.fail(`${what}: not within ${millis} ms`)
      this.run(1)
    }
    return this
  }

  // ---- leaders

  /** Whoever leads the highest term. */
  leader(): MemberId | undefined {
    let best: ClientConnection | undefined
    for (const seat of this.simulation.world.seats) {
      const view = seat.member?.view
      if (view?.role === 'leader' && view.term > (best?.member?.view.term ?? 0)) best = seat
    }
    return best?.id
  }

  /** Lets nobody else ask for votes until this member leads. */
  elect(id: MemberId): this {
    const others = (message: Message) =>
      (message.type === 'preVote' || message.type === 'vote') && message.from !== id
    this.#dropped.push(others)
    this.until(`${id} leads`, () => this.leader() === id, 30 * this.electionTimeout)
    this.#dropped.splice(this.#dropped.indexOf(others), 1)
    return this
  }

  /** Until the one that leads has committed something of its term. */
  settle(id: MemberId): this {
    return this.until(`${id} has committed its log`, () => {
      const { commit, lastIndex, role } = this.view(id)
      return role === 'leader' && commit === lastIndex
    })
  }

  // ---- faults

  drop(which: (message: Message) => boolean): () => void {
    this.#dropped.push(which)
    return () => {
      const at = this.#dropped.indexOf(which)
      if (at >= 0) this.#dropped.splice(at, 1)
    }
  }

  cut(a: MemberId, b: MemberId): this {
    return this.cutOneWay(a, b).cutOneWay(b, a)
  }

  cutOneWay(from: MemberId, to: MemberId): this {
    this.simulation.world.network.cut(this.seat(from).slot, this.seat(to).slot)
    return this
  }

  isolate(id: MemberId): this {
    for (const other of this.simulation.world.seats) if (other.id !== id) this.cut(id, other.id)
    return this
  }

  mend(a: MemberId, b: MemberId): this {
    const { network } = this.simulation.world
    network.mend(this.seat(a).slot, this.seat(b).slot)
    network.mend(this.seat(b).slot, this.seat(a).slot)
    return this
  }

  heal(): this {
    this.#dropped.splice(0)
    this.simulation.world.network.heal()
    return this
  }

  crash(id: MemberId, how: 'kill' | 'power' = 'power'): this {
    this.simulation.world.crash(this.seat(id), how)
    return this
  }

  start(id: MemberId): this {
    this.simulation.world.start(this.seat(id))
    return this
  }

  crashAt(id: MemberId, step: DiskStep, after = 0): this {
    this.seat(id).disk.armCrash(step, after)
    return this
  }

  pause(id: MemberId, millis: number): this {
    const seat = this.seat(id)
    const { life } = seat
    seat.pause()
    this.simulation.world.after(millis * MS, () => seat.resume(life))
    return this
  }

  slowDisk(id: MemberId, factor: number): this {
    this.seat(id).disk.slowness = factor
    return this
  }

  /** As if this message arrived now. */
  inject(message: Message): this {
    this.seat(message.to).arrive({ type: 'message', message })
    return this
  }

  // ---- calls

  write(id: MemberId): number {
    return this.#ask(id, 'write')
  }

  read(id: MemberId): number {
    return this.#ask(id, 'read')
  }

  #ask(id: MemberId, kind: Request['kind']): number {
    return this.simulation.clients.ask(this.seat(id), kind, 0)
  }

  answer(request: number): Answer | undefined {
    return this.#answers.get(request)
  }

  isDone(request: number): boolean {
    return this.answer(request)?.type === 'done'
  }

  /** A write that must succeed in time at whoever leads. */
  mustWrite(millis = 10 * this.electionTimeout): this {
    let request: number | undefined
    let sentAt = 0
    return this.until(
      'a write succeeds',
      () => {
        const answer = request === undefined ? undefined : this.answer(request)
        if (answer?.type === 'done') return true
        const leader = this.leader()
        const given =
          request === undefined || answer !== undefined || this.now - sentAt > 3 * this.electionTimeout
        if (given && leader !== undefined) {
          request = this.write(leader)
          sentAt = this.now
        }
        return false
      },
      millis,
    )
  }

  mustRead(id: MemberId, millis = 10 * this.electionTimeout): this {
    const request = this.read(id)
    return this.until(`a read at ${id} succeeds`, () => this.isDone(request), millis)
  }

  demand(holds: boolean, what: string): this {
    if (!holds) this.fail(what)
    return this
  }

  fail(what: string): never {
    throw new ScenarioFailed(what)
  }
}

function calm(options: StageOptions, electionTimeout: number): Options {
  const drawn = drawOptions(options.seed ?? 1, 'mixed')
  const delay = options.delay ?? 1000
  return {
    ...drawn,
    members: options.members,
    tickEvery: 10_000,
    goneAfter: options.goneAfter ?? 0,
    drift: 0,
    network: { base: delay, tail: 0, loss: 0, duplicate: 0, late: 0, inOrder: true },
    disk: { syncBase: options.sync ?? 200, syncTail: 0, longest: 100_000_000 },
    clients: 0,
    client: { ...drawn.client, keys: 1, loss: 0, timeout: 3_600_000_000 },
    faults: Object.fromEntries(Object.keys(drawn.faults).map((kind) => [kind, 0])) as Options['faults'],
    member: {
      electionTimeout,
      heartbeat: electionTimeout / 10,
      snapshotEvery: 1_000_000,
      trailing: 0,
      chunkBytes: 64,
      paddingBytes: 200,
      batching: false,
      applyDelay: 0,
      maxInflight: 64,
      maxAppendBytes: 1 << 20,
      ...options.member,
    },
  }
}
