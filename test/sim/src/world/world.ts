// Driver: the common part of the simulated worlds of both profiles: time, machines, network, Raft's laws and
// the trace. The seed, the options and the faults decide everything that happens.

import { type Logger, type Random, silentLogger } from '@latchkey/base'
import type { MemberId, Raft } from '@latchkey/raft/core'
import { Cuts, Host, type MemoryNetwork } from '@latchkey/raft/memory'
import { newLawChecker } from '../laws/all.js'
import type { TimeBounds } from '../laws/cluster-time.js'
import type { Law } from '../laws/law.js'
import type { LawChecker } from '../laws/law-checker.js'
import { VirtualTime } from './virtual-time.js'

export interface WorldMode {
  readonly trace?: boolean
  /** True skips the laws that notice a wrong step before it has done harm. */
  readonly outerOnly?: boolean
}

export interface WorldMember {
  readonly id: MemberId
  readonly host: Host
  readonly raft: Raft | undefined
  /** The id of the cluster, or '' if the process does not know its cluster. */
  readonly clusterId: string
}

type HostOptions = ConstructorParameters<typeof Host>[4]

const TRACE_LINES = 200_000

/** Returns how many µs late a timer fires. */
const lateness = (random: Random): number =>
  random.chance(0.02) ? random.between(0, 20_000) : random.between(0, 300)

export abstract class World<Member extends WorldMember = WorldMember> {
  abstract readonly options: { readonly seed: number }
  readonly time = new VirtualTime()
  readonly random: Random
  readonly cuts = new Cuts(() => this.cutsChanged())
  readonly hosts: Host[] = []
  readonly members: Member[] = []
  readonly laws: LawChecker
  readonly trace: string[] = []
  readonly logger: Logger
  abstract readonly network: MemoryNetwork
  readonly #tracing: boolean

  constructor(random: Random, mode: WorldMode, bounds: Omit<TimeBounds, 'steps'>) {
    this.random = random
    this.#tracing = mode.trace === true
    this.logger = this.#tracing ? this.#traceLogger() : silentLogger
    const steps = (until: number) => this.#stepsUntil(until)
    this.laws = newLawChecker({ ...bounds, steps }, mode.outerOnly === true, [() => this.ownLaw])
  }

  #stepsUntil(until: number): number {
    let count = 0
    for (const { clock } of this.hosts) for (const { at } of clock.steps) if (at <= until) count++
    return count
  }

  /** The law by which this world receives the events. */
  protected abstract get ownLaw(): Law

  /** In µs, how long faults happen. */
  abstract get duration(): number

  abstract get counts(): Readonly<Record<string, number>>

  abstract start(): void

  protected cutsChanged(): void {
    this.network.changed()
  }

  addHost(name: string, random: Random, options: Partial<HostOptions> & Omit<HostOptions, 'lateness'>): Host {
    const host = new Host(this.time, this.hosts.length, name, random, { lateness, ...options })
    this.hosts.push(host)
    return host
  }

  find(id: MemberId): Member | undefined {
    return this.members.find((member) => member.id === id)
  }

  /** Returns the leader with the highest term. */
  leader(): Member | undefined {
    let found: Member | undefined
    for (const member of this.members) {
      if (member.raft?.role !== 'leader') continue
      if (member.raft.term > (found?.raft?.term ?? -1)) found = member
    }
    return found
  }

  protected look(): void {}

  run(until: number, done?: () => boolean): Promise<void> {
    return this.time.run(until, () => this.look(), done)
  }

  /** An error of the check ends the run. */
  judge(part: () => void): void {
    try {
      part()
    } catch (error) {
      this.time.fail(error)
    }
  }

  note(line: () => string): void {
    if (!this.#tracing) return
    this.trace.push(`${(this.time.now / 1000).toFixed(3).padStart(11)} ${line()}`)
    if (this.trace.length > TRACE_LINES) this.trace.splice(0, TRACE_LINES / 2)
  }

  #traceLogger(): Logger {
    const line = (message: string, fields?: object) =>
      this.note(() => (fields === undefined ? message : `${message} ${JSON.stringify(fields)}`))
    return { debug: () => {}, info: line, warn: line, error: line }
  }
}
