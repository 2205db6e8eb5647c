// Driver: makes the faults happen. When a fault happens, it chooses its members by its own random numbers and
// the state of the cluster.
//
// Law: the faults break no more than Raft tolerates. Damage never destroys the last majority of a
// configuration that may be used.

import type { MemberId, Membership } from '@latchkey/raft/core'
import { bothWays, cut, Nemesis, slowDisk, stop } from '../world/nemesis.js'
import { isMajority } from '../laws/observed-cluster.js'
import type { FaultKind } from './fault-kinds.js'
import type { Fault } from './draw-faults.js'
import type { CrashPoint, RaftMember } from './raft-member.js'
import { chooseChange } from './draw-change.js'
import { rot } from './damage-log.js'
import type { RaftWorld } from './raft-world.js'

export type CrashStep = Pick<CrashPoint, 'kind' | 'when'>

/** A member can crash at these steps of the log. The first four steps belong to each write. */
export const LOG_STEPS: readonly CrashStep[] = [
  { kind: 'write', when: 'before' },
  { kind: 'sync', when: 'before' },
  { kind: 'sync', when: 'during' },
  { kind: 'sync', when: 'after' },
  { kind: 'create', when: 'after' },
  { kind: 'syncDir', when: 'before' },
  { kind: 'syncDir', when: 'after' },
  { kind: 'remove', when: 'after' },
]

export class RaftNemesis extends Nemesis<Fault> {
  readonly #world: RaftWorld
  readonly #strikes: Readonly<Record<FaultKind, (fault: Fault) => void>> = {
    crash: (fault) => this.#crash(fault),
    crashAll: (fault) => this.#crashAll(fault),
    crashPoint: (fault) => this.#crashPoint(fault),
    orphan: (fault) => this.#orphan(fault),
    storm: (fault) => this.#storm(fault),
    isolate: (fault) => this.#isolate(fault),
    split: (fault) => this.#split(fault),
    oneWay: (fault) => this.#oneWay(fault),
    bridge: (fault) => this.#bridge(fault),
    link: (fault) => this.#link(fault),
    burst: (fault) => this.#burst(fault),
    pause: (fault) => this.#pause(fault, false),
    suspend: (fault) => this.#pause(fault, true),
    stall: (fault) => this.#stall(fault),
    step: (fault) => this.#step(fault),
    drift: (fault) => this.#drift(fault),
    slowDisk: (fault) => this.#slowDisk(fault),
    sickDisk: ({ dice }) => this.#target(dice)?.sicken(),
    rot: (fault) => this.#rot(fault),
    transfer: (fault) => this.#transfer(fault),
    change: (fault) => this.#change(fault),
    compact: ({ dice }) => this.#target(dice)?.compact(),
  }

  constructor(world: RaftWorld) {
    super(world)
    this.#world = world
  }

  protected strike(fault: Fault): void {
    this.#strikes[fault.kind](fault)
  }

  // ---- whom

  #up(): readonly RaftMember[] {
    return this.#world.members.filter(({ isUp }) => isUp)
  }

  /** Chooses the leader in half of the cases, and otherwise any member. */
  #target([who, whom]: Fault['dice']): RaftMember | undefined {
    const leader = this.#world.leader()
    if (who < 0.5 && leader !== undefined) return leader
    return pick(this.#up(), whom)
  }

  // ---- processes and disks

  #crash({ dice, span }: Fault): void {
    const member = this.#target(dice)
    if (member === undefined) return
    this.#world.crash(member, dice[2] >= 0.5)
    this.#restart(member, dice[3] < 0.5 ? span / 20 : span)
  }

  #restart(member: RaftMember, after: number): void {
    this.later(after, () => member.boot())
  }

  #crashAll({ dice, span }: Fault): void {
    this.#up().forEach((member, i) => {
      this.#world.crash(member, dice[2] >= 0.3)
      this.#restart(member, (span * (((dice[1] * 7919 + i * 37) % 10) + 1)) / 10)
    })
  }

  /** The process dies during its next write to the log, and starts again soon. */
  #crashPoint({ dice }: Fault): void {
    const member = this.#target(dice)
    if (member === undefined) return
    const step = pick(LOG_STEPS.slice(0, dice[3] < 0.8 ? 4 : LOG_STEPS.length), dice[2]) as CrashStep
    member.crashPoint = { ...step, after: Math.floor(dice[3] * 3) }
  }

  /**
   * Figure 8 of the Raft paper: the leader reaches only one follower, dies soon, and starts again before the
   * next election is over.
   */
  #orphan({ dice, span }: Fault): void {
    const leader = this.#world.leader()
    if (leader === undefined) return
    const others = this.#world.members.filter((member) => member !== leader)
    const friend = pick(others, dice[0])
    this.#cutOff(
      leader,
      others.filter((other) => other !== friend),
      span / 2,
    )
    this.later(span / 10, () => {
      this.#world.crash(leader, dice[1] >= 0.7)
      this.#restart(leader, span * dice[2])
    })
  }

  /** Many elections: each new leader is cut off, and some leaders die during a write. */
  #storm({ dice, span }: Fault): void {
    const rounds = 3 + Math.floor(dice[0] * 5)
    for (let round = 0; round < rounds; round++) {
      this.later((span * round) / 2, () => {
        const leader = this.#world.leader()
        if (leader === undefined) return
        this.#cutOff(leader, this.#world.members, span / 2)
        const victim = pick(this.#up(), (dice[1] + round * 0.37) % 1)
        if (victim === undefined || (dice[2] + round * 0.61) % 1 > 0.5) return
        victim.crashPoint = { kind: 'sync', when: dice[3] < 0.7 ? 'during' : 'after', after: 0 }
      })
    }
  }

  #slowDisk({ dice, span }: Fault): void {
    const member = this.#target(dice)
    if (member === undefined) return
    slowDisk(member, dice[2] < 0.5 ? 10 : 100, this.undoAfter(span))
  }

  /**
   * Damages bytes that are promised as durable. The member must not start again, so enough other members must
   * be undamaged.
   */
  #rot({ dice }: Fault): void {
    const member = this.#target(dice)
    if (member === undefined || !this.#spareable(member)) return
    this.#world.crash(member, false)
    member.rotten = rot(member.disk, dice[2], dice[3])
    this.#restart(member, 1000)
  }

  #spareable(member: RaftMember): boolean {
    const whole = (id: MemberId) => id !== member.id && this.#world.find(id)?.rotten !== true
    for (const { live, disk } of this.#world.laws.observed.members.values()) {
      for (const { membership } of [live, disk]) if (!hasMajority(membership, whole)) return false
    }
    return true
  }

  // ---- network

  #cutOff(member: RaftMember, others: readonly RaftMember[], span: number): void {
    const hosts = others.map(({ host }) => host)
    cut(this.#world.cuts, bothWays(member.host, hosts), this.undoAfter(span))
  }

  #isolate({ dice, span }: Fault): void {
    const member = this.#target(dice)
    if (member === undefined) return
    this.#cutOff(member, this.#world.members, span)
  }

  #split({ dice, span }: Fault): void {
    const side = (member: RaftMember) => ((Math.floor(dice[0] * 4096) >> member.host.index) & 1) === 1
    this.#cutWhere((a, b) => side(a) !== side(b), span)
  }

  #oneWay({ dice, span }: Fault): void {
    const member = this.#target(dice)
    if (member === undefined) return
    this.#cutWhere((from, to) => (dice[2] < 0.5 ? from === member : to === member), span)
  }

  /** Cuts the network into two halves that have only one common member. */
  #bridge({ dice, span }: Fault): void {
    const middle = this.#target(dice)
    if (middle === undefined) return
    const side = (member: RaftMember) => (member.host.index + Math.floor(dice[2] * 2)) % 2
    this.#cutWhere((a, b) => a !== middle && b !== middle && side(a) !== side(b), span)
  }

  #link({ dice, span }: Fault): void {
    const from = pick(this.#world.members, dice[0])
    const to = pick(this.#world.members, dice[1])
    this.#cutWhere((one, other) => one === from && other === to, span)
  }

  #cutWhere(between: (from: RaftMember, to: RaftMember) => boolean, span: number): void {
    const { members, cuts } = this.#world
    const pairs = members.flatMap((from) =>
      members.filter((to) => from !== to && between(from, to)).map((to) => [from.host, to.host] as const),
    )
    cut(cuts, pairs, this.undoAfter(span))
  }

  /** An unreliable network loses most messages for some time. */
  #burst({ dice, span }: Fault): void {
    const world = this.#world
    if (world.options.network.unreliable === undefined) return
    const before = world.options.network.unreliable.loss
    world.loss = 0.2 + dice[0] * 0.6
    this.later(span, () => {
      world.loss = before
    })
  }

  // ---- time

  #pause({ dice, span }: Fault, suspended: boolean): void {
    const member = this.#target(dice)
    if (member === undefined || member.host.stopped) return
    stop(member.host, suspended, this.undoAfter(span))
  }

  #stall({ dice, span }: Fault): void {
    const member = this.#target(dice)
    if (member !== undefined) member.host.stall = span
  }

  #step({ dice }: Fault): void {
    const clock = this.#target(dice)?.host.clock
    if (clock === undefined) return
    const { options, time } = this.#world
    const millis = dice[2] < 0.5 ? dice[3] * 3_600_000 : dice[3] * 2_000
    if (dice[2] < 0.75) clock.stepWall(dice[2] % 0.1 < 0.05 ? millis : -millis)
    else clock.step(time.now, dice[3] < 0.4 ? -dice[3] * options.member.electionTimeout : millis)
  }

  #drift({ dice }: Fault): void {
    const { time, options } = this.#world
    this.#target(dice)?.host.clock.drift(time.now, 1 + (dice[2] * 2 - 1) * options.drift)
  }

  // ---- what an operator does

  #transfer({ dice }: Fault): void {
    const leader = this.#world.leader()
    const to = pick(this.#world.members, dice[0])
    if (leader !== undefined && to !== undefined) leader.transfer(to.id)
  }

  #change({ dice }: Fault): void {
    const leader = this.#world.leader()
    const membership = leader?.view?.membership
    if (leader === undefined || membership === undefined) return
    const change = chooseChange(this.#world, membership, dice)
    if (change !== undefined) leader.change(change)
  }
}

const pick = <T>(items: readonly T[], dice: number): T | undefined => items[Math.floor(dice * items.length)]

const hasMajority = ({ voters, outgoing }: Membership, has: (id: MemberId) => boolean): boolean =>
  (voters.length === 0 || isMajority(voters, has)) && (outgoing.length === 0 || isMajority(outgoing, has))
