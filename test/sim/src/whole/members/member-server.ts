// Driver: one member: its machine, its disks, and the process that starts and dies on this machine. The code
// in the process is the production code.

import type { Logger, Random } from '@latchkey/base'
import type { KvMachine, KvLimits } from '@latchkey/kv'
import type { Member } from '../../../../../packages/latchkey/dist/member/member.js'
import type { LinkReply } from '@latchkey/protocol'
import { checkInvariants, type Raft } from '@latchkey/raft/core'
import type { Host, HostProcess, MemoryDisk, MemoryNetwork } from '@latchkey/raft/memory'
import type { LoopObserver } from '@latchkey/raft/node'
import type { LawChecker } from '../../laws/law-checker.js'
import { observeLoop, recoveredState } from '../../laws/observe-loop.js'
import type { ProductModules } from '../product-modules.js'
import type { WholeOptions } from '../options.js'
import { RowsWithEventLogStorage } from './rows-with-event-log.js'
import { SlowRowStorage } from './slow-rows.js'

export interface ServerOptions {
  /** Undefined means a cluster of one member. */
  readonly members: Readonly<Record<string, string>> | undefined
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly segmentBytes: number
  readonly growBytes: number
  /** When a file of the event log has this many bytes, the next file begins. */
  readonly eventLogBytes: number
  readonly limits: Partial<KvLimits>
  /** In µs, the shortest time of a sync. Some syncs take much longer. */
  readonly syncBase: number
  readonly syncTail: number
  readonly rowsMost: number
}

export function serverOptions(
  options: WholeOptions,
  members: Readonly<Record<string, string>> | undefined,
): ServerOptions {
  const { electionTimeout, heartbeat, everyEntries, segmentBytes, flushMillis, flushBytes } = options
  const { syncBase, syncTail, rowsMost, growBytes, eventLogBytes, events } = options
  return {
    members,
    electionTimeout,
    heartbeat,
    snapshot: { everyEntries, everyBytes: 4_000_000 },
    segmentBytes,
    growBytes,
    eventLogBytes,
    limits: { flushMillis, flushBytes, events },
    syncBase,
    syncTail,
    rowsMost,
  }
}

export interface ServerPorts {
  readonly product: ProductModules
  readonly host: Host
  readonly memberNetwork: MemoryNetwork
  readonly random: Random
  readonly logger: Logger
  newId(): string
  /** Raft's laws. Undefined if they do not judge this member. */
  readonly laws?: LawChecker
  /** Runs a check of the laws. */
  judge(part: () => void): void
  note(line: () => string): void
  /** Called with the state machine of a new process, for observers of what it applies. */
  machine(server: MemberServer, life: HostProcess, machine: KvMachine): void
  opened(server: MemberServer, life: HostProcess): void
  /** Called at the start of a member, and at each change of its role, term or leader. */
  role(server: MemberServer, raft: Member['replica']['node']['raft']): void
  /** Called if the member has stopped by itself. */
  failed(server: MemberServer, error: Error): void
}

/** In µs, the longest time of a sync that still ends. */
const SLOWEST = 5_000_000
/** In µs. A sync that takes longer delays everybody who waits for a commit. */
const SLOW_SYNC = 100_000

export class MemberServer {
  readonly id: string
  readonly host: Host
  readonly disk: MemoryDisk
  member: Member | undefined
  readonly #options: ServerOptions
  readonly #ports: ServerPorts
  readonly #storage: RowsWithEventLogStorage
  readonly #joins: boolean
  #gone = new Set<(silent: boolean) => void>()
  readonly #whenOpened = new Set<() => void>()
  /** The factor by which a slow disk is slower. */
  slowness = 1
  /**
   * In µs, when the last slow sync ends. This may be later than the end of the fault that made the disk slow.
   */
  slowUntil = 0
  retired = false
  /** The list of members that the member gets at its next start. */
  given: Readonly<Record<string, string>> | undefined
  /** True if the member was removed from the cluster but not switched off. */
  leftAlone = false
  crashes = 0
  /** True if a fault of its disk is pending, so the member may stop by itself. */
  #sick = false

  constructor(id: string, options: ServerOptions, ports: ServerPorts, joins = false) {
    this.id = id
    this.host = ports.host
    this.#options = options
    this.#ports = ports
    this.#joins = joins
    this.given = options.members
    const { product, random } = ports
    const delays = random.fork('disk')
    this.disk = new product.MemoryDisk({
      schedule: (op, run) => {
        const { life } = this.host
        this.host.timeline.later(this.#delay(op.kind, delays), () => life?.deliver(run))
      },
    })
    const slow = new SlowRowStorage(product, ports.host, random.fork('rows'), options.rowsMost)
    this.#storage = new RowsWithEventLogStorage(product, slow, this.disk, options.eventLogBytes)
    // Segments are small, so that a member with a short log also removes old segments.
    Object.defineProperty(this.disk, 'sizes', {
      value: { segmentBytes: options.segmentBytes, growBytes: options.growBytes },
    })
  }

  #delay(kind: string, random: Random): number {
    if (kind !== 'sync' && kind !== 'syncDir') return random.between(5, 100)
    const u = random.float()
    const { syncBase, syncTail } = this.#options
    const delay = Math.floor(Math.min(SLOWEST, (syncBase + u * u * u * u * syncTail) * this.slowness))
    if (delay > SLOW_SYNC) this.slowUntil = Math.max(this.slowUntil, this.host.timeline.now + delay)
    return delay
  }

  get url(): string {
    return `ws://${this.id}`
  }

  get isUp(): boolean {
    return this.member !== undefined
  }

  /**
   * Like the production code: a removed member, or a member that still asks unknown addresses for their
   * cluster, sends its clients to other members.
   */
  get serves(): boolean {
    return this.member !== undefined && !this.member.isOutside && !this.member.replica.isAsking
  }

  get raft(): Raft | undefined {
    return this.member?.replica.node.raft
  }

  get clusterId(): string {
    return this.member?.replica.clusterId ?? ''
  }

  clientConnection(tell: (reply: LinkReply) => void): ReturnType<Member['clientConnection']> {
    return (this.member as Member).clientConnection(tell, this.#ports.product.ANONYMOUS, 'websocket')
  }

  onGone(run: (silent: boolean) => void): () => void {
    this.#gone.add(run)
    return () => this.#gone.delete(run)
  }

  onOpened(run: () => void): () => void {
    this.#whenOpened.add(run)
    return () => this.#whenOpened.delete(run)
  }

  boot(): void {
    if (this.host.life !== undefined || this.retired) return
    const life = this.host.start()
    this.#open(life).then(
      (member) => this.#opened(life, member),
      (error: Error) => this.#failed(life, error),
    )
  }

  /**
   * A failed disk stops the member and its process, and a supervisor starts it again. Any other error is a
   * failure of the run.
   */
  #failed(life: HostProcess, error: Error): void {
    if (life.dead) return
    if (!this.#sick) return this.#ports.failed(this, error)
    const { timeline: time } = this.host
    time.later(0, () => {
      if (!life.dead) this.crash(false)
    })
    time.later(this.#ports.random.between(50_000, 1_000_000), () => this.boot())
  }

  /**
   * One of the next operations on the disk fails, of the log or of the rows. The operation may have been done
   * or not.
   */
  sicken(): void {
    if (this.host.life === undefined) return
    const { random } = this.#ports
    this.#sick = true
    if (random.chance(0.4)) return this.#storage.failNext()
    const code = random.pick(['EIO', 'ENOSPC'] as const)
    this.disk.failAt(this.disk.operations + random.between(1, 4), { code, kept: random.chance(0.5) })
  }

  /** Loses the state, as if an operator rebuilds the member, even if no other member has a state now. */
  loseState(): void {
    void this.#rebuild()
  }

  #opened(life: HostProcess, member: Member): void {
    if (life.dead) return
    this.#serves(life, member)
    this.#ports.opened(this, life)
  }

  #observer(life: HostProcess): LoopObserver | undefined {
    const { laws, note } = this.#ports
    return (
      laws &&
      observeLoop(this.id, {
        laws,
        checkInvariants,
        judge: (part) => this.#judge(life, part),
        note,
        takenAt: (reading) => life.takenAt(reading),
      })
    )
  }

  #judge(life: HostProcess, part: () => void): void {
    if (!life.dead) this.#ports.judge(part)
  }

  #serves(life: HostProcess, member: Member): void {
    this.#judge(life, () => this.#ports.laws?.booted(this.id, recoveredState(member.replica)))
    this.member = member
    const { node } = member.replica
    const told = () => this.#ports.role(this, node.raft)
    node.on('role', told)
    told()
    member.on('failed', (error) => this.#failed(life, error))
    // The member may have stopped before anybody listened.
    const { failure } = node
    if (failure !== undefined) return this.#failed(life, failure)
    this.#tellOpened()
  }

  #tellOpened(): void {
    if (this.member !== undefined) for (const run of [...this.#whenOpened]) run()
  }

  #open(life: HostProcess): Promise<Member> {
    const { product, memberNetwork, random, logger, newId } = this.#ports
    const { electionTimeout, heartbeat, snapshot, limits } = this.#options
    const { clock, defer } = life
    return product.Member.open(
      {
        id: this.id,
        members: this.given,
        join: this.#joins,
        electionTimeout,
        heartbeat,
        snapshot,
        maxInFlightBytes: 4_000_000,
      },
      {
        fs: this.disk,
        dir: 'log',
        version: 'simulated',
        clock,
        random: random.fork(`core-${++this.crashes}`),
        defer,
        logger,
        newId,
        asked: () => this.#tellOpened(),
        transport: (owner) => memberNetwork.open(this.id, owner, life),
        observer: this.#observer(life),
        rebuild: () => defer(() => void this.#rebuild()),
        machine: (hooks) => {
          const machine = new product.KvMachine({
            storage: this.#storage,
            clock,
            logger,
            limits,
            nextTurn: defer,
            later: defer,
            ...hooks,
          })
          this.#ports.machine(this, life, machine)
          return machine
        },
      },
    )
  }

  async #rebuild(): Promise<void> {
    const { life } = this.host
    const member = this.member
    if (life === undefined || member === undefined) return
    this.member = undefined
    this.#tellGone(false)
    try {
      await member.close()
      if (life.dead) return
      await this.#storage.discard()
      const anew = await this.#open(life)
      if (!life.dead) this.#serves(life, anew)
    } catch (error) {
      this.#failed(life, error as Error)
    }
  }

  /** The process dies. With `power`, the machine loses power, and data that was not synced is lost. */
  crash(power: boolean): void {
    if (this.host.life === undefined) return
    this.member = undefined
    this.#sick = false
    this.host.die()
    this.#whenOpened.clear()
    this.host.dark = power
    this.#tellGone(power)
    this.#ports.memberNetwork.died(this.id, power)
    if (power) this.disk.crash(this.#ports.random)
    else this.disk.kill(this.#ports.random)
    this.#storage.crash()
  }

  /** The member was removed from the cluster and is switched off. */
  retire(): void {
    this.retired = true
    this.crash(false)
  }

  #tellGone(silent: boolean): void {
    const gone = this.#gone
    this.#gone = new Set()
    for (const run of gone) run(silent)
  }
}
