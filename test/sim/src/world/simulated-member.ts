// Driver: the common part of the members of both profiles: a machine with a disk, and a process on the
// machine. The disk outlives a crash.

import type { Random } from '@latchkey/base'
import type { checkInvariants, MemberId, Raft } from '@latchkey/raft/core'
import type { DiskOp, Host, HostProcess, MemoryDisk } from '@latchkey/raft/memory'
import type { LoopObserver, Replica } from '@latchkey/raft/node'
import type { LawChecker } from '../laws/law-checker.js'
import { observeLoop, recoveredState } from '../laws/observe-loop.js'
import type { WorldMember } from './world.js'

export interface SimulatedMemberPorts {
  readonly host: Host
  readonly random: Random
  /** Undefined if Raft's laws do not judge this member. */
  readonly laws?: LawChecker
  /** Runs a check of the laws. An error of the check ends the run. */
  judge(part: () => void): void
  note(line: () => string): void
}

interface DiskSpeed {
  /** In µs. A sync takes at least `syncBase`, and at most `syncTail` longer. */
  readonly syncBase: number
  readonly syncTail: number
  /** In µs. A sync does not take longer than this, even on a slow disk. */
  readonly longest: number
}

export abstract class SimulatedMember<Opened> implements WorldMember {
  readonly id: MemberId
  readonly host: Host
  abstract readonly disk: MemoryDisk
  /** The factor by which a sync of a slow disk takes longer. */
  slowness = 1
  /** After a failed operation of the disk, the member may stop by itself. */
  protected sick = false
  readonly #ports: SimulatedMemberPorts

  constructor(id: MemberId, ports: SimulatedMemberPorts) {
    this.id = id
    this.host = ports.host
    this.#ports = ports
  }

  abstract get replica(): Replica | undefined

  get raft(): Raft | undefined {
    return this.replica?.node.raft
  }

  get clusterId(): string {
    return this.replica?.clusterId ?? ''
  }

  // ---- the process

  protected abstract get staysDown(): boolean
  protected abstract open(life: HostProcess): Promise<Opened>
  protected abstract opened(life: HostProcess, opened: Opened): void
  protected abstract failed(life: HostProcess, error: Error): void
  /** The process is dead. With `power` the machine is off. The disk still has its old content. */
  protected abstract died(power: boolean): void

  boot(): void {
    if (this.host.life !== undefined || this.staysDown) return
    const life = this.host.start()
    this.open(life).then(
      (opened) => life.dead || this.opened(life, opened),
      (error: Error) => life.dead || this.failed(life, error),
    )
  }

  /** With `power` the machine loses power, and what was not synced is lost. */
  crash(power: boolean): void {
    if (this.host.life === undefined) return
    this.#ports.note(() => `${this.id} dies (${power ? 'power' : 'kill'})`)
    this.sick = false
    this.host.die()
    this.host.dark = power
    this.died(power)
    if (power) this.disk.crash(this.#ports.random)
    else this.disk.kill(this.#ports.random)
  }

  reach(run: (replica: Replica) => void): void {
    this.host.life?.deliver(() => this.replica && run(this.replica))
  }

  transfer(to: MemberId | undefined): void {
    this.reach(({ node }) => node.transfer(to))
  }

  compact(): void {
    this.reach(({ node }) => node.compact(0, 0))
  }

  /** Returns how long an operation of the disk takes, in µs. */
  protected delay(kind: DiskOp['kind'], random: Random, { syncBase, syncTail, longest }: DiskSpeed): number {
    if (kind !== 'sync' && kind !== 'syncDir') return random.between(5, 100)
    const u = random.float()
    return Math.floor(Math.min(longest, (syncBase + u * u * u * u * syncTail) * this.slowness))
  }

  // ---- the laws

  protected judge(life: HostProcess, part: () => void): void {
    if (!life.dead) this.#ports.judge(part)
  }

  protected observer(life: HostProcess, check: typeof checkInvariants | undefined): LoopObserver | undefined {
    const { laws, note } = this.#ports
    if (laws === undefined) return undefined
    return observeLoop(this.id, {
      laws,
      checkInvariants: check,
      judge: (part) => this.judge(life, part),
      note,
      takenAt: (reading) => life.takenAt(reading),
    })
  }

  protected discarded(life: HostProcess): void {
    this.judge(life, () => this.#ports.laws?.discarded(this.id))
  }

  protected booted(life: HostProcess, replica: Replica): void {
    this.judge(life, () => this.#ports.laws?.booted(this.id, recoveredState(replica)))
  }
}
