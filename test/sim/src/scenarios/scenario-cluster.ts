// Driver: a small simulated world for directed scenarios. The network loses nothing, and nothing is drawn by
// chance. The scenario decides about the faults.
//
// All laws are checked as in any run. A scenario demands further results.

import type { MemberId, Message } from '@latchkey/raft/core'
import type { Answer, CrashPoint, RaftMember } from '../raft/raft-member.js'
import type { MemberView } from '../raft/member-view.js'
import type { RaftModules } from '../raft/raft-modules.js'
import { drawOptions, type MemberOptions, type Options } from '../raft/options.js'
import type { Request } from '../raft/registers.js'
import { found } from '../run/run-seed.js'
import { RaftWorld } from '../raft/raft-world.js'

export class ScenarioFailed extends Error {
  override readonly name = 'ScenarioFailed'
}

export interface ClusterOptions {
  readonly members: number
  readonly electionTimeout?: number
  readonly member?: Partial<MemberOptions>
  /** How long a sync takes, in µs. */
  readonly sync?: number
}

const MS = 1000

export class ScenarioCluster {
  readonly world: RaftWorld
  readonly electionTimeout: number
  readonly #dropped: ((message: Message) => boolean)[] = []

  constructor(modules: RaftModules, options: ClusterOptions, mode: { readonly outerOnly?: boolean }) {
    this.electionTimeout = options.electionTimeout ?? 200
    this.world = new RaftWorld(calm(options, this.electionTimeout), modules, { ...mode, directed: true })
    this.world.drops = (message) => this.#dropped.some((drops) => drops(message))
  }

  member(id: MemberId): RaftMember {
    return this.world.find(id) ?? this.fail(`there is no member ${id}`)
  }

  view(id: MemberId): MemberView {
    return this.member(id).view ?? this.fail(`${id} is down`)
  }

  get now(): number {
    return this.world.time.now / MS
  }

  // ---- time

  run(millis: number): Promise<void> {
    return this.world.run(this.world.time.now + millis * MS)
  }

  runTimeouts(count: number): Promise<void> {
    return this.run(count * this.electionTimeout)
  }

  /** Runs until the condition is true. If the time ends first, the scenario has failed. */
  async until(what: string, holds: () => boolean, millis = 20 * this.electionTimeout): Promise<void> {
    const end = this.now + millis
    while (!holds()) {
      if (this.now >= end) this.fail(`${what}: not within ${millis} ms`)
      await this.run(1)
    }
  }

  // ---- leaders

  /** Runs until the cluster is founded and its first member leads. */
  async found(): Promise<void> {
    const first = this.#onlyCandidate('a')
    await found(this.world)
    first()
    const { peers } = this.view('a').membership
    await this.until('all are known', () =>
      Object.values(peers).every(({ incarnation }) => incarnation !== ''),
    )
  }

  restart(): void {
    for (const { id } of this.world.members) this.crash(id)
    for (const { id } of this.world.members) this.start(id)
  }

  leader(): MemberId | undefined {
    return this.world.leader()?.id
  }

  #onlyCandidate(id: MemberId): () => void {
    return this.drop(({ type, from }) => (type === 'preVote' || type === 'vote') && from !== id)
  }

  /** Runs until this member leads. No other member can ask for votes before. */
  async elect(id: MemberId): Promise<void> {
    const allow = this.#onlyCandidate(id)
    await this.until(`${id} leads`, () => this.leader() === id, 30 * this.electionTimeout)
    allow()
  }

  /** Runs until the leader has committed an entry of its term. */
  settle(id: MemberId): Promise<void> {
    return this.until(`${id} has committed its log`, () => {
      const { commit, lastIndex, role } = this.view(id)
      return role === 'leader' && commit === lastIndex
    })
  }

  async lead(id: MemberId): Promise<void> {
    await this.elect(id)
    await this.settle(id)
  }

  // ---- faults

  /** Drops these messages. The returned function stops the drops. */
  drop(which: (message: Message) => boolean): () => void {
    this.#dropped.push(which)
    return () => {
      const at = this.#dropped.indexOf(which)
      if (at >= 0) this.#dropped.splice(at, 1)
    }
  }

  cut(a: MemberId, b: MemberId): void {
    this.cutOneWay(a, b)
    this.cutOneWay(b, a)
  }

  cutOneWay(from: MemberId, to: MemberId): void {
    this.world.cuts.cut(this.member(from).host.index, this.member(to).host.index)
  }

  isolate(id: MemberId): void {
    for (const other of this.world.members) if (other.id !== id) this.cut(id, other.id)
  }

  mend(a: MemberId, b: MemberId): void {
    const [one, other] = [this.member(a).host.index, this.member(b).host.index]
    this.world.cuts.mend(one, other)
    this.world.cuts.mend(other, one)
  }

  heal(): void {
    this.#dropped.splice(0)
    this.world.cuts.heal()
  }

  crash(id: MemberId): void {
    this.world.crash(this.member(id), true)
  }

  start(id: MemberId): void {
    this.member(id).boot()
  }

  crashAt(id: MemberId, point: Pick<CrashPoint, 'kind' | 'when'>, after = 0): void {
    this.member(id).crashPoint = { ...point, after }
  }

  pause(id: MemberId, millis: number): void {
    const { host } = this.member(id)
    host.stop(false)
    this.world.time.later(millis * MS, () => host.resume(false))
  }

  slowDisk(id: MemberId, factor: number): void {
    this.member(id).slowness = factor
  }

  inject(message: Message): void {
    this.member(message.to).receive(message)
  }

  // ---- calls

  write(id: MemberId): number {
    return this.#ask(id, 'write')
  }

  read(id: MemberId): number {
    return this.#ask(id, 'read')
  }

  #ask(id: MemberId, kind: Request['kind']): number {
    return this.world.clients.ask(this.member(id), kind, 0)
  }

  answer(request: number): Answer | undefined {
    return this.world.clients.answers.get(request)
  }

  isDone(request: number): boolean {
    return this.answer(request)?.type === 'done'
  }

  /** The write at the present leader must succeed within the given time. */
  mustWrite(millis = 10 * this.electionTimeout): Promise<void> {
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

  mustRead(id: MemberId, millis = 10 * this.electionTimeout): Promise<void> {
    const request = this.read(id)
    return this.until(`a read at ${id} succeeds`, () => this.isDone(request), millis)
  }

  demand(holds: boolean, what: string): void {
    if (!holds) this.fail(what)
  }

  fail(what: string): never {
    throw new ScenarioFailed(what)
  }
}

function calm({ members, sync, member }: ClusterOptions, electionTimeout: number): Options {
  const drawn = drawOptions(1, 'mixed')
  return {
    ...drawn,
    members,
    drift: 0,
    network: {
      base: MS,
      tail: 0,
      // During a scenario, no member gives up a connection, and messages on a cut link are lost.
      pulse: [3_600_000_000, 3_600_000_001],
      silentDeath: false,
      encoded: false,
      unreliable: { loss: 0, duplicate: 0, late: 0, inOrder: true },
    },
    disk: { syncBase: sync ?? 200, syncTail: 0, longest: 100_000_000, registersMost: 200 },
    clients: 0,
    client: { ...drawn.client, keys: 1, loss: 0, timeout: 3_600_000_000 },
    member: {
      electionTimeout,
      heartbeat: electionTimeout / 10,
      everyEntries: 1_000_000,
      segmentBytes: 1_048_576,
      chunkBytes: 64,
      paddingBytes: 200,
      batching: false,
      applyDelay: 0,
      keptBytes: 256 * 1024,
      maxInflight: 64,
      maxAppendBytes: 1 << 20,
      ...member,
    },
  }
}
