// Driver: the simulated world. One heap of events, one thread of time, everything drawn from one seed.
//
// Law: what happens is a function of the seed, the options and the list of faults, to the byte.

import type { Random } from '@latchkey/base'
import type { MemberId, Message } from '@latchkey/raft/core'
import type { Watch } from '../laws/watch.js'
import type { Answer, Birth, Boot, Request } from '../member/port.js'
import type { VirtualClock } from '@latchkey/raft/memory'
import { SimDisk, type DiskOptions } from './disk.js'
import { Fingerprint } from './fingerprint.js'
import { EventHeap } from '@latchkey/raft/memory'
import { Network, type Delivery, type NetworkOptions } from './network.js'
import { ClientConnection, type ClientConnectionPorts } from './seat.js'

export interface WorldParts {
  readonly random: Random
  readonly watch: Watch
  readonly network: NetworkOptions
  /** Microseconds between two ticks of a member. */
  readonly tickEvery: number
  /**
   * Tells members when another's process has died (closed connections), µs later; undefined: nobody tells.
   */
  readonly goneAfter: number | undefined
  readonly trace: boolean
}

export interface WorldCounts {
  events: number
  crashes: number
  crashPoints: number
  stalls: number
  restarts: number
}

export class World {
  readonly heap = new EventHeap()
  readonly random: Random
  readonly watch: Watch
  readonly network: Network
  readonly tickEvery: number
  readonly fingerprint = new Fingerprint()
  readonly seats: ClientConnection[] = []
  readonly counts: WorldCounts = { events: 0, crashes: 0, crashPoints: 0, stalls: 0, restarts: 0 }
  readonly #byId = new Map<MemberId, ClientConnection>()
  readonly #goneAfter: number | undefined
  readonly #trace: string[] | undefined
  now = 0
  alignedTicks = false
  /** Where answers to clients go. */
  onAnswer: (from: ClientConnection, request: Request, answer: Answer) => void = () => {}
  onSend: ((from: ClientConnection, message: Message) => void) | undefined

  constructor(parts: WorldParts) {
    this.random = parts.random
    this.watch = parts.watch
    this.tickEvery = parts.tickEvery
    this.#goneAfter = parts.goneAfter
    this.#trace = parts.trace ? [] : undefined
    this.network = new Network(
      this.heap,
      () => this.now,
      parts.random.fork('network'),
      parts.network,
      (delivery) => this.#deliver(delivery),
    )
  }

  /** A new machine. It is not started. */
  seat(id: MemberId, clock: VirtualClock, disk: DiskOptions, boot: Boot, birth: Birth): ClientConnection {
    const made = new SimDisk(this.heap, () => this.now, this.random.fork(`disk/${id}`), disk)
    const ports = this.#portsFor(() => seat)
    const seat: ClientConnection = new ClientConnection(ports, id, this.seats.length, {
      clock,
      disk: made,
      boot,
      birth,
    })
    this.seats.push(seat)
    this.#byId.set(id, seat)
    return seat
  }

  #portsFor(seat: () => ClientConnection): ClientConnectionPorts {
    return {
      heap: this.heap,
      random: this.random,
      watch: this.watch,
      tickEvery: this.tickEvery,
      counts: this.counts,
      now: () => this.now,
      alignedTicks: () => this.alignedTicks,
      after: (micros, run) => this.after(micros, run),
      crash: (how) => this.crash(seat(), how),
      send: (message) => this.send(seat(), message),
      answer: (request, answer) => this.answer(seat(), request, answer),
      note: (line) => this.note(line),
    }
  }

  find(id: MemberId): ClientConnection | undefined {
    return this.#byId.get(id)
  }

  after(micros: number, run: () => void): void {
    this.heap.push(this.now + Math.max(0, Math.floor(micros)), call, run)
  }

  /** One event. False when nothing is left to happen. */
  step(): boolean {
    const next = this.heap.pop()
    if (next === undefined) return false
    this.now = next.at
    this.counts.events++
    this.fingerprint.add(next.at)
    next.run(next.payload as never)
    return true
  }

  /** Until a moment, or until the events that may still happen are used up (a storm). */
  runUntil(at: number, maxEvents = Number.POSITIVE_INFINITY): 'done' | 'storm' {
    const limit = this.counts.events + maxEvents
    for (let next = this.heap.peekTime(); next !== undefined && next <= at; next = this.heap.peekTime()) {
      if (this.counts.events >= limit) return 'storm'
      this.step()
    }
    this.now = Math.max(this.now, at)
    return 'done'
  }

  send(from: ClientConnection, message: Message): void {
    this.watch.sending(from.id, message)
    this.onSend?.(from, message)
    const to = this.#byId.get(message.to)
    this.note(() => `${from.id} -> ${message.to} ${describe(message)}`)
    if (to !== undefined && to !== from) this.network.send(from.slot, to.slot, message)
  }

  answer(from: ClientConnection, request: Request, answer: Answer): void {
    this.onAnswer(from, request, answer)
  }

  crash(seat: ClientConnection, how: 'kill' | 'power'): void {
    if (seat.member === undefined) return
    this.note(() => `${seat.id} dies (${how})`)
    this.fingerprint.add(seat.slot + (how === 'kill' ? 100 : 200))
    this.counts.crashes++
    seat.end()
    if (how === 'kill') seat.disk.kill()
    else seat.disk.powerLoss()
    if (this.#goneAfter === undefined) return
    for (const other of this.seats) {
      if (other === seat || this.network.isCut(seat.slot, other.slot)) continue
      this.after(this.#goneAfter, () => other.arrive({ type: 'gone', id: seat.id }))
    }
  }

  start(seat: ClientConnection): void {
    if (seat.member !== undefined) return
    this.note(() => `${seat.id} starts`)
    this.fingerprint.add(seat.slot + 300)
    if (seat.life > 0) this.counts.restarts++
    seat.start()
  }

  note(line: () => string): void {
    if (this.#trace === undefined) return
    this.#trace.push(`${(this.now / 1000).toFixed(3).padStart(11)} ${line()}`)
    if (this.#trace.length > 200_000) this.#trace.splice(0, 100_000)
  }

  get trace(): readonly string[] {
    return this.#trace ?? []
  }

  #deliver({ from, to, message }: Delivery): void {
    const seat = this.seats[to]
    if (seat === undefined) return
    const typed = message as Message
    this.fingerprint.add(from * 64 + to)
    this.fingerprint.add(typed.term * 32 + typed.type.length)
    this.note(() => `${seat.id} <- ${typed.from} ${describe(typed)} [${seat.state}]`)
    seat.arrive({ type: 'message', message: typed })
  }
}

const call = (run: () => void): void => run()

/** A message on one line, entries as index:term. */
export function describe(message: Message): string {
  const {
    type,
    group: _group,
    from: _from,
    to: _to,
    term,
    ...rest
  } = message as Message & Record<string, unknown>
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${shown(value)}`)
  return `${type} t${term} ${fields.join(' ')}`
}

function shown(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length}B`
  if (Array.isArray(value)) return `[${value.map((item) => shown(item)).join(' ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const { index, term, kind } = value as { index?: number; term?: number; kind?: string }
  if (index !== undefined) return `${index}:${term}${kind === undefined ? '' : kind[0]}`
  return JSON.stringify(value)
}
