// Driver: one member: a machine with disks, and the process on the machine. The process runs the production
// code.

import type { Logger, Random } from '@latchkey/base'
import type { KvMachine, KvLimits } from '@latchkey/kv'
import type { Member } from '../../../../../packages/latchkey/dist/member/member.js'
import type { LinkReply } from '@latchkey/protocol'
import { checkInvariants } from '@latchkey/raft/core'
import type { DiskOp, HostProcess, MemoryDisk, MemoryNetwork } from '@latchkey/raft/memory'
import type { Replica } from '@latchkey/raft/node'
import { SimulatedMember, type SimulatedMemberPorts } from '../../world/simulated-member.js'
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
  readonly keptBytes: number
  readonly segmentBytes: number
  readonly growBytes: number
  /** In bytes. A file of the event log is followed by the next file at this size. */
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
  const { electionTimeout, heartbeat, everyEntries, keptBytes, segmentBytes } = options
  const { flushMillis, flushBytes, syncBase, syncTail, rowsMost, growBytes, eventLogBytes, events } = options
  return {
    members,
    electionTimeout,
    heartbeat,
    snapshot: { everyEntries, everyBytes: 4_000_000 },
    keptBytes,
    segmentBytes,
    growBytes,
    eventLogBytes,
    limits: { flushMillis, flushBytes, events },
    syncBase,
    syncTail,
    rowsMost,
  }
}

export interface ServerPorts extends SimulatedMemberPorts {
  readonly product: ProductModules
  readonly memberNetwork: MemoryNetwork
  readonly logger: Logger
  newId(): string
  /** Called with the state machine of a new process, so that laws can observe it. */
  machine(server: MemberServer, life: HostProcess, machine: KvMachine): void
  opened(server: MemberServer, life: HostProcess): void
  /** Called at the start of a member, and at each change of its role, term or leader. */
  role(server: MemberServer, raft: Member['replica']['node']['raft']): void
  failed(server: MemberServer, error: Error): void
}

/** In µs, the longest time of a sync that still ends. */
const SLOWEST = 5_000_000
/** In µs. A longer sync delays everybody who waits for a commit. */
const SLOW_SYNC = 100_000

export class MemberServer extends SimulatedMember<Member> {
  readonly disk: MemoryDisk
  member: Member | undefined
  readonly #options: ServerOptions
  readonly #ports: ServerPorts
  readonly #storage: RowsWithEventLogStorage
  readonly #joins: boolean
  #gone = new Set<(silent: boolean) => void>()
  readonly #whenOpened = new Set<() => void>()
  /** In µs, the end of the last slow sync. It may be later than the end of the fault. */
  slowUntil = 0
  retired = false
  /** The list of members for the next start. */
  given: Readonly<Record<string, string>> | undefined
  /** True if the member was removed from the cluster but not switched off. */
  leftAlone = false
  crashes = 0

  constructor(id: string, options: ServerOptions, ports: ServerPorts, joins = false) {
    super(id, ports)
    this.#options = options
    this.#ports = ports
    this.#joins = joins
    this.given = options.members
    const { product, random } = ports
    const delays = random.fork('disk')
    this.disk = new product.MemoryDisk({
      schedule: (op, run) => {
        const { life } = this.host
        this.host.timeline.later(this.#diskDelay(op.kind, delays), () => life?.deliver(run))
      },
    })
    const slow = new SlowRowStorage(product, ports.host, random.fork('rows'), options.rowsMost)
    this.#storage = new RowsWithEventLogStorage(product, slow, this.disk, options.eventLogBytes)
    // Small segments, so that a member with a short log also removes old segments.
    Object.defineProperty(this.disk, 'sizes', {
      value: { segmentBytes: options.segmentBytes, growBytes: options.growBytes },
    })
  }

  #diskDelay(kind: DiskOp['kind'], random: Random): number {
    const delay = this.delay(kind, random, { ...this.#options, longest: SLOWEST })
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
   * As in the production code, a removed member sends its clients to other members. A member that still asks
   * unknown addresses for their cluster does so too.
   */
  get serves(): boolean {
    return this.member !== undefined && !this.member.isOutside && !this.member.replica.isAsking
  }

  get replica(): Replica | undefined {
    return this.member?.replica
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

  protected get staysDown(): boolean {
    return this.retired
  }

  /**
   * A failed disk stops the member, and a supervisor starts it again. Any other error is a failure of the
   * run.
   */
  protected failed(life: HostProcess, error: Error): void {
    if (life.dead) return
    if (!this.sick) return this.#ports.failed(this, error)
    const { timeline: time } = this.host
    time.later(0, () => {
      if (!life.dead) this.crash(false)
    })
    time.later(this.#ports.random.between(50_000, 1_000_000), () => this.boot())
  }

  /**
   * One of the next operations on the disk of the log or of the rows fails. The operation may have been done
   * or not.
   */
  sicken(): void {
    if (this.host.life === undefined) return
    const { random } = this.#ports
    this.sick = true
    if (random.chance(0.4)) return this.#storage.failNext()
    const code = random.pick(['EIO', 'ENOSPC'] as const)
    this.disk.failAt(this.disk.operations + random.between(1, 4), { code, kept: random.chance(0.5) })
  }

  /** Loses the state, as if an operator rebuilds the member. Other members need not have a state. */
  loseState(): void {
    void this.#rebuild()
  }

  protected opened(life: HostProcess, member: Member): void {
    this.#serves(life, member)
    this.#ports.opened(this, life)
  }

  #serves(life: HostProcess, member: Member): void {
    this.booted(life, member.replica)
    this.member = member
    const { node } = member.replica
    const told = () => this.#ports.role(this, node.raft)
    node.on('role', told)
    told()
    member.on('failed', (error) => this.failed(life, error))
    // The member may have stopped before anybody listened.
    const { failure } = node
    if (failure !== undefined) return this.failed(life, failure)
    this.#tellOpened()
  }

  #tellOpened(): void {
    if (this.member !== undefined) for (const run of [...this.#whenOpened]) run()
  }

  protected open(life: HostProcess): Promise<Member> {
    const { product, memberNetwork, random, logger, newId } = this.#ports
    const { electionTimeout, heartbeat, snapshot, keptBytes, limits } = this.#options
    const { clock, defer } = life
    return product.Member.open(
      {
        id: this.id,
        members: this.given,
        join: this.#joins,
        electionTimeout,
        heartbeat,
        snapshot,
        limits: { keptBytes },
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
        observer: this.observer(life, checkInvariants),
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
      this.discarded(life)
      const anew = await this.open(life)
      if (!life.dead) this.#serves(life, anew)
    } catch (error) {
      this.failed(life, error as Error)
    }
  }

  protected died(power: boolean): void {
    this.member = undefined
    this.#whenOpened.clear()
    this.#tellGone(power)
    this.#ports.memberNetwork.died(this.id, power)
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
