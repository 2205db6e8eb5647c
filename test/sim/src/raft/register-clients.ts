// Driver: simulated clients. Each makes one operation after the other at some member, over a connection that
// loses messages, and records what it saw.
//
// Law: an operation has three possible results. A client knows that nothing happened if a member says so. A
// missing answer proves nothing.

import type { Random } from '@latchkey/base'
import type { MemberId } from '@latchkey/raft/core'
import type { Timeline } from '@latchkey/raft/memory'
import type { History, Operation } from '../history/history.js'
import type { Answer, RaftMember } from './raft-member.js'
import type { ClientOptions } from './options.js'
import type { Request } from './registers.js'

interface ClientPorts {
  readonly time: Timeline
  readonly members: readonly RaftMember[]
  find(id: MemberId): RaftMember | undefined
}

interface Pending {
  readonly request: Request
  readonly call: number
}

/** Clients with this number or a higher one make one operation. */
const ONE_CALL = 1000

export class Clients {
  readonly #ports: ClientPorts
  readonly #random: Random
  #options: ClientOptions
  readonly #history: History
  /** Returns the highest acknowledged index. Each later read must see the write at this index. */
  readonly #floor: () => number
  readonly #pending = new Map<number, Pending>()
  readonly #leaderOf: (RaftMember | undefined)[] = []
  /** The value of each key that a client saw last. A swap that expects this value may succeed. */
  readonly #lastSeen: number[] = []
  /** The answers to the single operations of `ask`. */
  readonly answers = new Map<number, Answer>()
  #requests = 0
  #stopped = false
  readonly done = { ok: 0, refused: 0, unknown: 0 }

  constructor(
    ports: ClientPorts,
    random: Random,
    options: ClientOptions,
    history: History,
    floor: () => number,
  ) {
    this.#ports = ports
    this.#random = random
    this.#options = options
    this.#history = history
    this.#floor = floor
  }

  start(count: number): void {
    for (let client = 0; client < count; client++) this.#rest(client)
  }

  /** The clients start no new operations. Messages are no longer lost, and pending operations may end. */
  stop(): void {
    this.#stopped = true
    this.#options = { ...this.#options, loss: 0 }
  }

  /** Makes one operation at the given member, with a client of its own. */
  ask(at: RaftMember, kind: Request['kind'], key: number): number {
    const request = this.#request(ONE_CALL + this.#requests, kind, key)
    this.#send(request, at)
    return request.id
  }

  /** Pending operations never return. */
  finish(): void {
    for (const { request, call } of this.#pending.values()) this.#record(request, call, undefined)
    this.#pending.clear()
  }

  #rest(client: number): void {
    if (client >= ONE_CALL) return
    this.#ports.time.later(this.#random.between(0, this.#options.think + 1), () => this.#next(client))
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
    const expected = kind === 'swap' ? (this.#lastSeen[key] ?? 0) : 0
    return { id, client, kind, key, value: id, expected, sentAt: this.#ports.time.now, floor: this.#floor() }
  }

  #send(request: Request, at: RaftMember): void {
    this.#pending.set(request.id, { request, call: this.#ports.time.now })
    this.#ports.time.later(this.#options.timeout, () => this.#timeout(request))
    if (this.#random.chance(this.#options.loss)) return
    this.#ports.time.later(this.#way(), () => at.request(request))
  }

  #choose(client: number): RaftMember | undefined {
    const known = this.#leaderOf[client]
    if (known !== undefined && !this.#random.chance(this.#options.roam)) return known
    const there = this.#ports.members.filter(({ ruined }) => !ruined)
    return there.length === 0 ? undefined : this.#random.pick(there)
  }

  answered(from: RaftMember, request: Request, answer: Answer): void {
    if (request.client >= ONE_CALL) this.answers.set(request.id, answer)
    if (this.#random.chance(this.#options.loss)) return
    this.#ports.time.later(this.#way(), () => this.#learn(from, request, answer))
  }

  #learn(from: RaftMember, request: Request, answer: Answer): void {
    const pending = this.#pending.get(request.id)
    if (pending === undefined) return
    this.#pending.delete(request.id)
    if (answer.type === 'refused') {
      this.done.refused++
      this.#leaderOf[request.client] =
        answer.leader === undefined ? undefined : this.#ports.find(answer.leader)
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
    // A read with unknown outcome proves nothing.
    if (kind === 'read' && known === undefined) return
    const operation: Operation = {
      client,
      kind,
      value,
      expected,
      call,
      end: known === undefined ? Number.POSITIVE_INFINITY : this.#ports.time.now,
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
