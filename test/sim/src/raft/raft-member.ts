// Driver: the machine of one member, with a clock and disks that survive a crash, and the process on the
// machine. The event loop, the log and the start are the production code.

import type { Logger, Random } from '@latchkey/base'
import type { MemberId, MembershipChange, Message } from '@latchkey/raft/core'
import { type DiskOp, type HostProcess, MemoryDisk, type MemoryNetwork } from '@latchkey/raft/memory'
import type { Outcome, ReadOutcome, Replica } from '@latchkey/raft/node'
import { ASLEEP, type MemberView, viewOf } from './member-view.js'
import type { RaftModules } from './raft-modules.js'
import type { Options } from './options.js'
import { decodeResult, encodeCommand, RegisterDisk, Registers, type Request } from './registers.js'
import { LawBroken } from '../laws/verdict.js'
import type { LawChecker } from '../laws/law-checker.js'
import { SimulatedMember, type SimulatedMemberPorts } from '../world/simulated-member.js'

/**
 * The results for a client. `value` is the value of the register before the operation, or the result of a
 * read.
 */
export type Answer =
  | { readonly type: 'done'; readonly value: number; readonly swapped: boolean }
  | { readonly type: 'refused'; readonly leader: MemberId | undefined }
  | { readonly type: 'unknown' }

export interface MemberPorts extends SimulatedMemberPorts {
  readonly modules: RaftModules
  readonly options: Options
  readonly network: MemoryNetwork
  readonly laws: LawChecker
  readonly logger: Logger
  /** The ids of the first members. Undefined if this member waits to be added. */
  readonly founders: readonly MemberId[] | undefined
  sends(message: Message): boolean
  answer(from: RaftMember, request: Request, answer: Answer): void
  /** Called after a crash or a fault of the disk has ended the process. */
  crashed(member: RaftMember): void
  failed(member: RaftMember, error: Error): void
}

/** 'after' means that the operation is done and not yet reported. */
export interface CrashPoint {
  readonly kind: 'write' | 'sync' | 'syncDir' | 'rename' | 'create' | 'remove' | 'registers'
  readonly when: 'before' | 'during' | 'after'
  /** How many such operations happen before the crash. */
  after: number
}

export const urlOf = (id: MemberId): string => `ws://${id}`
export const incarnationOf = (id: MemberId): string => `${id}-1`

export class RaftMember extends SimulatedMember<Replica> {
  readonly disk: MemoryDisk
  readonly #ports: MemberPorts
  readonly #registerDisk: RegisterDisk
  replica: Replica | undefined
  #registers: Registers | undefined
  #starts = 0
  crashPoint: CrashPoint | undefined
  /** How many operations of the disk succeed before the failing one. */
  #failsIn: number | undefined
  /** True if promised bytes of the log were damaged. The member must not start again. */
  rotten = false
  ruined = false

  constructor(id: MemberId, ports: MemberPorts) {
    super(id, ports)
    this.#ports = ports
    const { random, options } = ports
    const delays = random.fork('disk')
    this.disk = new MemoryDisk({
      isAlive: () => this.isUp,
      sizes: { segmentBytes: options.member.segmentBytes, growBytes: 512 },
      schedule: (op, run) => this.#schedule(op, run, delays),
    })
    this.#registerDisk = new RegisterDisk(random.fork('registers'), options.disk.registersMost, (when) => {
      if (this.crashPoint?.when === when && this.#isCrashPoint('registers')) this.#crashAtPoint()
    })
  }

  // ---- its disk

  #schedule(op: DiskOp, run: () => void, random: Random): void {
    const { life, timeline } = this.host
    this.#mayFail(op)
    const when = this.#isCrashPoint(op.kind) ? this.crashPoint?.when : undefined
    if (when !== undefined) this.crashPoint = undefined
    if (when === 'before') return this.#crashAtPoint()
    timeline.later(this.delay(op.kind, random, this.#ports.options.disk), () => life?.deliver(run))
    if (when === 'during') timeline.later(1, () => life === this.host.life && this.#crashAtPoint())
    if (when === 'after') this.disk.stopAt(op.number, 'after', () => this.#crashAtPoint())
  }

  #isCrashPoint(kind: string): boolean {
    const point = this.crashPoint
    return point !== undefined && point.kind === kind && point.after-- <= 0
  }

  #crashAtPoint(): void {
    this.crashPoint = undefined
    this.crash(true)
    this.#ports.crashed(this)
  }

  /**
   * One of the next operations on the disk of the log fails. The failed operation may have been done or not.
   */
  sicken(within = 4): void {
    if (this.isUp) this.#failsIn = this.#ports.random.between(0, within)
  }

  #mayFail({ kind, number }: DiskOp): void {
    if (this.#failsIn === undefined || kind === 'open' || kind === 'close' || this.#failsIn-- > 0) return
    const { random } = this.#ports
    this.#failsIn = undefined
    this.sick = true
    this.disk.failAt(number, { code: random.pick(['EIO', 'ENOSPC'] as const), kept: random.chance(0.5) })
  }

  /** Cancels pending faults and resumes a paused process. */
  heal(): void {
    this.slowness = 1
    this.crashPoint = undefined
    this.#failsIn = undefined
    this.host.stall = 0
    while (this.host.stopped) this.host.resume(this.host.suspended)
  }

  // ---- its process

  get isUp(): boolean {
    return this.host.life !== undefined
  }

  protected get staysDown(): boolean {
    return this.ruined
  }

  protected open(life: HostProcess): Promise<Replica> {
    const { modules, options, network, random, logger, founders } = this.#ports
    const { electionTimeout, heartbeat, everyEntries, maxInflight, maxAppendBytes, keptBytes } =
      options.member
    this.#starts++
    const registers = this.#makeRegisters(life)
    this.#registers = registers
    return modules.Replica.open(
      {
        id: this.id,
        members: founders && Object.fromEntries(founders.map((id) => [id, urlOf(id)])),
        join: founders === undefined,
        electionTimeout,
        heartbeat,
        snapshot: { everyEntries, everyBytes: 4_000_000 },
        maxInFlightBytes: 4_000_000,
        limits: { maxInflight, maxAppendBytes, keptBytes },
      },
      {
        fs: this.disk,
        dir: 'log',
        clock: life.clock,
        random: random.fork(`core/${this.#starts}`),
        defer: life.defer,
        logger,
        machine: registers,
        observer: this.observer(life, modules.checkInvariants),
        newId: () => incarnationOf(this.id),
        transport: (owner) => {
          const transport = network.open(this.id, owner, life)
          const send = transport.send.bind(transport)
          transport.send = (to, message) => {
            if (this.#ports.sends(message)) send(to, message)
          }
          return transport
        },
      },
    )
  }

  #makeRegisters(life: HostProcess): Registers {
    const { laws, random, options } = this.#ports
    return new Registers(this.#registerDisk, life, random.fork(`apply/${this.#starts}`), options.member, {
      applied: (applied) => this.judge(life, () => laws.applied(this.id, applied)),
      installed: ({ position, membership }, hash) =>
        this.judge(life, () => laws.installed(this.id, position, membership, { hash })),
    })
  }

  protected opened(life: HostProcess, replica: Replica): void {
    if (this.rotten)
      return this.#ports.judge(() => {
        throw new LawBroken('rot', `${this.id} starts with a log that is damaged where it was durable`)
      })
    const { node } = replica
    this.booted(life, replica)
    this.replica = replica
    node.on('failed', (error) => this.failed(life, error))
    if (node.failure !== undefined) this.failed(life, node.failure)
  }

  /** A fault of the disk stops the member. Any other error is a failure of the run. */
  protected failed(life: HostProcess, error: Error): void {
    if (life.dead) return
    this.#ports.note(() => `${this.id} stops itself: ${error.message}`)
    const { code } = error as { code?: string }
    const isRot = this.rotten && code === 'ERR_CORRUPT'
    if (!isRot && !this.sick) return this.#ports.failed(this, (error.cause as Error | undefined) ?? error)
    if (isRot) this.ruined = true
    this.host.timeline.later(0, () => {
      if (life.dead) return
      this.crash(!isRot)
      if (!isRot) this.#ports.crashed(this)
    })
  }

  protected died(power: boolean): void {
    this.replica = undefined
    this.#registers = undefined
    this.crashPoint = undefined
    this.#failsIn = undefined
    this.#ports.network.died(this.id, power && this.#ports.options.network.silentDeath)
    this.#registerDisk.crash()
  }

  // ---- what clients, operators and faults do

  request(request: Request): void {
    this.reach(({ node }) => {
      if (request.kind === 'read') node.read((outcome) => this.#read(request, outcome))
      else
        node.submit(
          encodeCommand(request),
          (outcome) => this.#written(request, outcome),
          !this.#ports.options.member.batching,
        )
    })
  }

  #read(request: Request, outcome: ReadOutcome): void {
    const registers = this.#registers
    if (registers === undefined) return
    if (!outcome.ok) return this.#refuse(request)
    const { index, time } = outcome
    const { sentAt, floor, key } = request
    this.#ports.judge(() => this.#ports.laws.served({ member: this.id, index, time, sentAt, floor }))
    this.#ports.answer(this, request, { type: 'done', value: registers.read(key), swapped: true })
  }

  #written(request: Request, outcome: Outcome): void {
    if (!this.isUp) return
    if (outcome.type === 'unknown') return this.#ports.answer(this, request, { type: 'unknown' })
    if (outcome.type === 'refused') return this.#refuse(request)
    const { request: answered, index, term, seen, swapped } = decodeResult(outcome.answer.bytes)
    this.#ports.judge(() => {
      if (answered !== request.id) throw new Error(`entry ${index} answers another request`)
      this.#ports.laws.acknowledged({ index, term, key: request.key })
    })
    this.#ports.answer(this, request, { type: 'done', value: seen, swapped })
  }

  #refuse(request: Request): void {
    this.#ports.answer(this, request, { type: 'refused', leader: this.raft?.leader })
  }

  change(change: MembershipChange): boolean {
    if (this.host.life?.running !== true) return false
    return this.replica?.node.proposeChange(change).ok ?? false
  }

  receive(message: Message): void {
    this.reach(({ node }) => node.receive(message, incarnationOf(message.from)))
  }

  // ---- how it stands

  get view(): MemberView | undefined {
    if (!this.isUp) return undefined
    if (this.replica === undefined) return ASLEEP
    const now = this.host.clock.read(this.host.timeline.now)
    return viewOf(this.replica, this.#registers?.hash ?? 0, now)
  }

  describe(): string {
    return this.raft?.describe() ?? (this.ruined ? 'ruined' : 'down')
  }
}
