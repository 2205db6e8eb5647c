// Driver: simulated clients. Each calls one operation after the other at some member, over a lossy way of its
// own, and writes down what it saw.
//
// Law: a client's truth has three values. Only a member that says so proves that nothing happened; silence
// proves nothing.

import type { Random } from '@latchkey/base'
import type { History, Operation } from '../history/history.js'
import type { Answer, Request } from '../member/port.js'
import type { ClientConnection } from '../world/seat.js'
import type { World } from '../world/world.js'

export interface ClientOptions {
  readonly keys: number
  /** Share of reads, of swaps; the rest writes. */
  readonly reads: number
  readonly swaps: number
  /** Microseconds between two operations, at most. */
  readonly think: number
  readonly timeout: number
  /** Share of answers and questions that get lost on the way. */
  readonly loss: number
  /** Asks any member, not the last known leader. */
  readonly roam: number
}

interface Pending {
  readonly request: Request
  readonly call: number
}

/** Clients from this number on make one call only. */
const ONE_CALL = 1000

export class Clients {
  readonly #world: World
  readonly #random: Random
  #options: ClientOptions
  readonly #history: History
  /** The highest acknowledged index; what a read must reflect. */
  readonly #floor: () => number
  readonly #pending = new Map<number, Pending>()
  readonly #leaderOf: (ClientConnection | undefined)[] = []
  /** What a client saw last of a key: a swap that expects it has a chance. */
  readonly #lastSeen: number[] = []
  #requests = 0
  #stopped = false
  /** Completed since the start, by what the client learned. */
  readonly done = { ok: 0, refused: 0, unknown: 0 }

  constructor(world: World, random: Random, options: ClientOptions, history: History, floor: () => number) {
    this.#world = world
    this.#random = random
    this.#options = options
    this.#history = history
    this.#floor = floor
    world.onAnswer = (from, request, answer) => this.#answered(from, request, answer)
  }

  start(count: number): void {
    for (let client = 0; client < count; client++) this.#rest(client)
  }

  /** No new operations, and nothing is lost on the way any more; what is under way may still end. */
  stop(): void {
    this.#stopped = true
    this.#options = { ...this.#options, loss: 0 }
  }

  /** One operation of a client of its own, at a given member. */
  ask(at: ClientConnection, kind: Request['kind'], key: number): number {
    const request = this.#request(ONE_CALL + this.#requests, kind, key)
    this.#send(request, at)
    return request.id
  }

  /** What is still open never returned. */
  finish(): void {
    for (const { request, call } of this.#pending.values()) this.#record(request, call, undefined)
    this.#pending.clear()
  }

  isPending(id: number): boolean {
    return this.#pending.has(id)
  }

  #rest(client: number): void {
    if (client >= ONE_CALL) return
    this.#world.after(this.#random.between(0, this.#options.think + 1), () => this.#next(client))
  }

  #next(client: number): void {
    if (this.#stopped) return
    const at = this.#choose(client)
    if (at === undefined) return
    const dice = this.#random.float()
    const { reads, swaps, keys } = this.#options
    const kind = dice < reads ? 'read' : dice < reads + swaps ? 'swap' : 'write'
    this.#send(this.#request(client, kind, this.#random.between(0, keys)), at)
  }

  #request(client: number, kind: Request['kind'], key: number): Request {
    const id = ++this.#requests
    // Every written value is another one.
    const expected = kind === 'swap' ? (this.#lastSeen[key] ?? 0) : 0
    return { id, client, kind, key, value: id, expected, sentAt: this.#world.now, floor: this.#floor() }
  }

  #send(request: Request, at: ClientConnection): void {
    this.#pending.set(request.id, { request, call: this.#world.now })
    this.#world.after(this.#options.timeout, () => this.#timeout(request))
    if (this.#random.chance(this.#options.loss)) return
    this.#world.after(this.#way(), () => at.arrive({ type: 'request', request }))
  }

  #choose(client: number): ClientConnection | undefined {
    const known = this.#leaderOf[client]
    if (known !== undefined && !this.#random.chance(this.#options.roam)) return known
    const there = this.#world.seats.filter((seat) => !seat.ruined)
    return there.length === 0 ? undefined : this.#random.pick(there)
  }

  #answered(from: ClientConnection, request: Request, answer: Answer): void {
    if (this.#random.chance(this.#options.loss)) return
    this.#world.after(this.#way(), () => this.#learn(from, request, answer))
  }

  #learn(from: ClientConnection, request: Request, answer: Answer): void {
    const pending = this.#pending.get(request.id)
    if (pending === undefined) return
    this.#pending.delete(request.id)
    if (answer.type === 'refused') {
      this.done.refused++
      this.#leaderOf[request.client] =
        answer.leader === undefined ? undefined : this.#world.find(answer.leader)
    } else {
      if (answer.type === 'done') this.done.ok++
      else this.done.unknown++
      this.#record(request, pending.call, answer)
      this.#leaderOf[request.client] = from
    }
    this.#rest(request.client)
  }

  #timeout(request: Request): void {
    const pending = this.#pending.get(request.id)
    if (pending === undefined) return
    this.#pending.delete(request.id)
    this.done.unknown++
    this.#record(request, pending.call, undefined)
    this.#leaderOf[request.client] = undefined
    this.#rest(request.client)
  }

  #record(request: Request, call: number, answer: Answer | undefined): void {
    const { client, kind, key, value, expected } = request
    const known = answer?.type === 'done' ? answer : undefined
    // A read of unknown outcome says nothing at all.
    if (kind === 'read' && known === undefined) return
    const operation: Operation = {
      client,
      kind,
      value,
      expected,
      call,
      end: known === undefined ? Number.POSITIVE_INFINITY : this.#world.now,
      seen: known?.value ?? 0,
      swapped: known?.swapped ?? false,
    }
    if (known !== undefined) this.#lastSeen[key] = kind === 'read' || !known.swapped ? known.value : value
    this.#history.add(key, operation)
  }

  #way(): number {
    return this.#random.between(100, 2000)
  }
}
