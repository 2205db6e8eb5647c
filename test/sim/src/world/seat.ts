// Driver: one member's place in the world: its machine (clock and disk, which survive) and its process (which
// does not).
//
// Law: a process sees messages in the order of their arrival, each with a clock reading taken after the
// arrival. A stall between that reading and the handling delays everything behind it (docs/locks.md, CT2); it
// never makes a later message use the older reading.

import type { Random } from '@latchkey/base'
import type { MemberId, Message } from '@latchkey/raft/core'
import {
  type Answer,
  type Birth,
  type Boot,
  DamagedDisk,
  type Host,
  type Request,
  type SimMember,
} from '../member/port.js'
import type { Watcher } from '../laws/law.js'
import type { VirtualClock } from '@latchkey/raft/memory'
import type { SimDisk } from './disk.js'
import { DiskHandle } from './disk-handle.js'
import type { EventHeap } from '@latchkey/raft/memory'

export type SeatState = 'up' | 'paused' | 'down' | 'ruined'

/** What the world gives to a seat. */
export interface ClientConnectionPorts {
  readonly heap: EventHeap
  readonly random: Random
  readonly watch: Watcher
  readonly tickEvery: number
  readonly counts: { crashPoints: number; stalls: number }
  now(): number
  /** All members tick at the same instants. */
  alignedTicks(): boolean
  after(micros: number, run: () => void): void
  crash(how: 'kill' | 'power'): void
  send(message: Message): void
  answer(request: Request, answer: Answer): void
  note(line: () => string): void
}

type Arrival =
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'request'; readonly request: Request }
  | { readonly type: 'gone'; readonly id: MemberId }
  | { readonly type: 'timer'; readonly run: (now: number) => void }
  | { readonly type: 'tick' }

export class ClientConnection {
  readonly id: MemberId
  readonly slot: number
  readonly clock: VirtualClock
  readonly disk: SimDisk
  readonly #world: ClientConnectionPorts
  readonly #random: Random
  readonly #boot: Boot
  readonly #birth: Birth
  #member: SimMember | undefined
  #life = 0
  #pauses = 0
  #inbox: Arrival[] = []
  #readingAt = 0
  /** Read its clock for this, and has not handled it yet. */
  #stalled: { readonly arrival: Arrival; readonly now: number; readonly readingAt: number } | undefined
  /** Microseconds that the process stalls between its next clock reading and what the reading is for. */
  #stall = 0
  ruined = false
  /** Why the process ended itself, when it did. */
  stopped: string | undefined

  constructor(
    world: ClientConnectionPorts,
    id: MemberId,
    slot: number,
    parts: { clock: VirtualClock; disk: SimDisk; boot: Boot; birth: Birth },
  ) {
    this.#world = world
    this.id = id
    this.slot = slot
    this.clock = parts.clock
    this.disk = parts.disk
    this.#boot = parts.boot
    this.#birth = parts.birth
    this.#random = world.random.fork(`member/${id}`)
    this.disk.onCrashPoint = () => {
      world.counts.crashPoints++
      world.crash('power')
    }
  }

  get state(): SeatState {
    if (this.ruined) return 'ruined'
    if (this.#member === undefined) return 'down'
    return this.#pauses > 0 ? 'paused' : 'up'
  }

  get member(): SimMember | undefined {
    return this.#member
  }

  /** Starts the process from what the disk holds. A damaged disk ruins the member: it must not run. */
  start(): void {
    if (this.#member !== undefined || this.ruined) return
    this.#life++
    this.stopped = undefined
    try {
      this.#readingAt = this.#world.now()
      this.#member = this.#boot(this.#host(this.#life), this.#birth)
    } catch (error) {
      if (!(error instanceof DamagedDisk)) throw error
      this.ruined = true
      this.#world.note(() => `${this.id} refuses to start: ${error.message}`)
      return
    }
    const { tickEvery } = this.#world
    const now = this.#world.now()
    const wait = this.#world.alignedTicks()
      ? tickEvery - (now % tickEvery)
      : this.#random.between(0, tickEvery)
    this.#world.heap.push(now + wait, this.#tick, this.#life)
  }

  /** The process is gone, whatever it was doing. */
  end(): void {
    this.#member = undefined
    this.#life++
    this.#inbox = []
    this.#pauses = 0
    this.#stall = 0
    this.#stalled = undefined
  }

  pause(): void {
    if (this.#member !== undefined) this.#pauses++
  }

  /** What waited is handled now: timers first or messages first, as it happens (T1, T2). */
  resume(life: number): void {
    if (life !== this.#life || this.#pauses === 0) return
    if (--this.#pauses > 0) return
    this.#finishStalled()
    const waiting = this.#inbox.splice(0)
    if (this.#random.chance(0.5)) this.#dispatch({ type: 'tick' }, this.#read())
    for (let i = 0; i < waiting.length; i++) {
      if (this.#pauses > 0) this.#inbox.push(waiting[i] as Arrival)
      else this.arrive(waiting[i] as Arrival)
    }
  }

  /** Awake, with its clock running and nothing ahead of it: the faults are over. */
  wake(): void {
    this.clock.resume(this.#world.now())
    this.#stall = 0
    if (this.#pauses === 0) return
    this.#pauses = 1
    this.resume(this.#life)
  }

  get life(): number {
    return this.#life
  }

  stallAtNextReading(micros: number): void {
    this.#stall = micros
  }

  arrive(arrival: Arrival): void {
    if (this.#member === undefined) return
    if (this.#pauses > 0) {
      this.#inbox.push(arrival)
      return
    }
    const now = this.#read()
    if (this.#stall > 0) this.#stallWith(arrival, now)
    else this.#dispatch(arrival, now)
  }

  /** Direct access for scenarios and nemesis: as if the operator's call arrived now. */
  command(run: (member: SimMember, now: number) => boolean): boolean {
    if (this.#member === undefined || this.#pauses > 0) return false
    const done = run(this.#member, this.#read())
    return done && this.#member !== undefined
  }

  /**
   * Counts as a pause of its own: what it was about to handle comes first when nothing holds the process any
   * more.
   */
  #stallWith(arrival: Arrival, now: number): void {
    const world = this.#world
    const life = this.#life
    const micros = this.#stall
    const stalled = { arrival, now, readingAt: this.#readingAt }
    this.#stall = 0
    this.#stalled = stalled
    this.#pauses++
    world.counts.stalls++
    world.note(() => `${this.id} stalls ${micros} µs between reading its clock and handling ${arrival.type}`)
    world.after(micros, () => {
      if (this.#stalled === stalled) this.resume(life)
    })
  }

  #finishStalled(): void {
    const stalled = this.#stalled
    if (stalled === undefined) return
    this.#stalled = undefined
    this.#readingAt = stalled.readingAt
    this.#dispatch(stalled.arrival, stalled.now)
  }

  #read(): number {
    this.#readingAt = this.#world.now()
    return this.clock.read(this.#world.now())
  }

  #dispatch(arrival: Arrival, now: number): void {
    const member = this.#member
    if (member === undefined) return
    if (arrival.type === 'message') member.message(arrival.message, now)
    else if (arrival.type === 'tick') member.tick(now)
    else if (arrival.type === 'timer') arrival.run(now)
    else if (arrival.type === 'request') member.request(arrival.request, now)
    else member.peerGone(arrival.id, now)
  }

  /** One tick is never queued behind another: a late timer fires once (T5). */
  #tick = (life: number): void => {
    if (life !== this.#life) return
    this.#world.heap.push(this.#world.now() + this.#world.tickEvery, this.#tick, life)
    if (this.#pauses === 0) this.arrive(TICK)
  }

  #host(life: number): Host {
    const world = this.#world
    const alive = () => life === this.#life
    return {
      id: this.id,
      disk: new DiskHandle(this.disk),
      random: this.#random.fork(`life/${life}`),
      watcher: world.watch,
      now: () => this.#read(),
      instant: () => this.clock.instant(world.now()),
      readingAt: () => this.#readingAt,
      alive,
      send: (message) => {
        if (alive()) world.send(message)
      },
      answer: (request: Request, answer: Answer) => {
        if (alive()) world.answer(request, answer)
      },
      after: (micros, run) => {
        const timer: Arrival = { type: 'timer', run }
        world.after(micros, () => {
          if (alive()) this.arrive(timer)
        })
      },
      enter: (run) => {
        if (alive()) this.arrive({ type: 'timer', run })
      },
      stop: (reason) => {
        if (!alive()) return
        world.note(() => `${this.id} stops itself: ${reason}`)
        this.stopped = reason
        world.crash('power')
      },
    }
  }
}

const TICK: Arrival = { type: 'tick' }
