// Driver: carries out faults. Whom a fault meets is decided when it strikes, from its own dice and the state
// of the world.
//
// Law: it breaks no more than was promised. Rot never ruins the last majority of any configuration that may
// be in force.

import type { MemberId, Membership } from '@latchkey/raft/core'
import { isMajority } from '../laws/ledger.js'
import type { DiskStep } from '../world/disk.js'
import type { ClientConnection } from '../world/seat.js'
import type { World } from '../world/world.js'
import type { Fault } from './faults.js'
import type { FaultKind } from './kinds.js'
import { type Cluster, chooseChange } from './membership.js'

const STEPS: readonly DiskStep[] = ['write', 'sync', 'syncing', 'synced', 'rename', 'folder', 'foldered']

type Strike = (fault: Fault) => void

export class Nemesis {
  readonly #world: World
  readonly #cluster: Cluster
  readonly #strikes: Readonly<Record<FaultKind, Strike>>
  /** Faults that found nothing to do are not counted. */
  readonly struck = new Map<FaultKind, number>()
  #over = false

  constructor(world: World, cluster: Cluster) {
    this.#world = world
    this.#cluster = cluster
    this.#strikes = {
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
      clog: (fault) => this.#clog(fault),
      burst: (fault) => this.#burst(fault),
      pause: (fault) => this.#pause(fault, false),
      suspend: (fault) => this.#pause(fault, true),
      stall: (fault) => this.#stall(fault),
      step: (fault) => this.#step(fault),
      drift: (fault) => this.#drift(fault),
      slowDisk: (fault) => this.#slowDisk(fault),
      failSync: (fault) => this.#failSync(fault),
      rot: (fault) => this.#rot(fault),
      transfer: (fault) => this.#transfer(fault),
      change: (fault) => this.#change(fault),
      compact: (fault) => this.#compact(fault),
    }
  }

  schedule(faults: readonly Fault[]): void {
    for (const fault of faults) this.#world.heap.push(fault.at, this.#strike, fault)
  }

  /** From now on nothing breaks any more, and what was to come does not come. */
  end(): void {
    this.#over = true
  }

  #strike = (fault: Fault): void => {
    if (this.#over) return
    this.#world.note(() => `--- fault ${fault.number}: ${fault.kind}`)
    this.#world.fingerprint.add(fault.number)
    this.struck.set(fault.kind, (this.struck.get(fault.kind) ?? 0) + 1)
    this.#strikes[fault.kind](fault)
  }

  // ---- whom

  #up(): readonly ClientConnection[] {
    return this.#world.seats.filter((seat) => seat.member !== undefined)
  }

  #leader(): ClientConnection | undefined {
    let best: ClientConnection | undefined
    for (const seat of this.#up()) {
      const view = seat.member?.view
      if (view?.role === 'leader' && view.term >= (best?.member?.view.term ?? 0)) best = seat
    }
    return best
  }

  /** Half of the time the leader, else anybody. */
  #target([who, whom]: Fault['dice']): ClientConnection | undefined {
    const leader = this.#leader()
    if (who < 0.5 && leader !== undefined) return leader
    return pick(this.#up(), whom)
  }

  #later(micros: number, run: () => void): void {
    this.#world.after(micros, () => {
      if (!this.#over) run()
    })
  }

  // ---- processes and disks

  #crash({ dice, span }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    this.#world.crash(seat, dice[2] < 0.5 ? 'kill' : 'power')
    this.#restart(seat, dice[3] < 0.5 ? span / 20 : span)
  }

  #restart(seat: ClientConnection, after: number): void {
    this.#later(after, () => this.#world.start(seat))
  }

  #crashAll({ dice, span }: Fault): void {
    this.#up().forEach((seat, i) => {
      this.#world.crash(seat, dice[2] < 0.3 ? 'kill' : 'power')
      this.#restart(seat, (span * (((dice[1] * 7919 + i * 37) % 10) + 1)) / 10)
    })
  }

  /**
   * Dies in the middle of its next persist sequence, and is back soon: what it promised meanwhile must hold.
   */
  #crashPoint({ dice, span }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    const step = pick(STEPS.slice(0, dice[3] < 0.8 ? 4 : STEPS.length), dice[2]) as DiskStep
    seat.disk.armCrash(step, Math.floor(dice[3] * 3))
    const watch = () => {
      if (seat.member === undefined) this.#restart(seat, span / 20)
      else this.#later(span / 10, watch)
    }
    watch()
  }

  /**
   * Figure 8: the leader reaches one follower only, dies soon, and is back before the next election is over.
   */
  #orphan({ dice, span }: Fault): void {
    const leader = this.#leader()
    if (leader === undefined) return
    const others = this.#world.seats.filter((seat) => seat !== leader)
    const friend = pick(others, dice[0])
    for (const other of others) if (other !== friend) this.#cut(leader, other, span / 2)
    this.#later(span / 10, () => {
      this.#world.crash(leader, dice[1] < 0.7 ? 'kill' : 'power')
      this.#restart(leader, span * dice[2])
    })
  }

  /** An election storm: whoever leads is cut off, again and again; some die at a crash point. */
  #storm({ dice, span }: Fault): void {
    const rounds = 3 + Math.floor(dice[0] * 5)
    for (let round = 0; round < rounds; round++) {
      this.#later((span * round) / 2, () => {
        const leader = this.#leader()
        if (leader === undefined) return
        for (const other of this.#world.seats) if (other !== leader) this.#cut(leader, other, span / 2)
        const victim = pick(this.#up(), (dice[1] + round * 0.37) % 1)
        if (victim === undefined || (dice[2] + round * 0.61) % 1 > 0.5) return
        victim.disk.armCrash(dice[3] < 0.7 ? 'syncing' : 'synced', 0)
        this.#later(span / 3, () => this.#world.start(victim))
      })
    }
  }

  #slowDisk({ dice, span }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    seat.disk.slowness = dice[2] < 0.5 ? 10 : 100
    this.#later(span, () => {
      seat.disk.slowness = 1
    })
  }

  /** D4: a sync fails; the member must stop, and what was unsynced is in doubt. */
  #failSync({ dice, span }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    seat.disk.failing = true
    this.#later(span / 4, () => {
      seat.disk.failing = false
      this.#world.start(seat)
    })
  }

  /** Rot where durability was promised: that member must not come back, so enough others must be whole. */
  #rot({ dice }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined || !this.#spareable(seat)) return
    this.#world.crash(seat, 'kill')
    if (this.#cluster.rot(seat, dice[2], dice[3])) this.#cluster.rotten.add(seat.id)
    this.#restart(seat, 1000)
  }

  #spareable(seat: ClientConnection): boolean {
    const whole = (id: MemberId) => id !== seat.id && !this.#cluster.rotten.has(id)
    for (const { live, disk } of this.#world.watch.ledger.members.values()) {
      for (const { membership } of [live, disk]) if (!hasMajority(membership, whole)) return false
    }
    return true
  }

  // ---- network

  #cut(a: ClientConnection, b: ClientConnection, span: number): void {
    this.#cutOneWay(a, b, span)
    this.#cutOneWay(b, a, span)
  }

  #cutOneWay(from: ClientConnection, to: ClientConnection, span: number): void {
    const { network } = this.#world
    network.cut(from.slot, to.slot)
    this.#later(span, () => network.mend(from.slot, to.slot))
  }

  #isolate({ dice, span }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    for (const other of this.#world.seats) if (other !== seat) this.#cut(seat, other, span)
  }

  #split({ dice, span }: Fault): void {
    const side = (seat: ClientConnection) => ((Math.floor(dice[0] * 4096) >> seat.slot) & 1) === 1
    this.#cutWhere((a, b) => side(a) !== side(b), span)
  }

  #oneWay({ dice, span }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    this.#cutWhere((from, to) => (dice[2] < 0.5 ? from === seat : to === seat), span)
  }

  /** Two halves that meet in one member only. */
  #bridge({ dice, span }: Fault): void {
    const middle = this.#target(dice)
    if (middle === undefined) return
    const side = (seat: ClientConnection) => (seat.slot + Math.floor(dice[2] * 2)) % 2
    this.#cutWhere((a, b) => a !== middle && b !== middle && side(a) !== side(b), span)
  }

  #link({ dice, span }: Fault): void {
    const from = pick(this.#world.seats, dice[0])
    const to = pick(this.#world.seats, dice[1])
    if (from !== undefined && to !== undefined && from !== to) this.#cutOneWay(from, to, span)
  }

  #cutWhere(between: (from: ClientConnection, to: ClientConnection) => boolean, span: number): void {
    for (const from of this.#world.seats) {
      for (const to of this.#world.seats) {
        if (from !== to && between(from, to)) this.#cutOneWay(from, to, span)
      }
    }
  }

  /** Nothing of some links arrives for a while, then all of it at once. */
  #clog({ dice, span }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    const { network } = this.#world
    this.#world.seats.forEach((other, i) => {
      if (other === seat) return
      const [from, to] = dice[2] < 0.5 ? [seat.slot, other.slot] : [other.slot, seat.slot]
      network.clog(from, to)
      this.#later((span * ((i % 3) + 1)) / 3, () => network.unclog(from, to))
    })
  }

  #burst({ dice, span }: Fault): void {
    const { network } = this.#world
    const before = network.options
    network.options = { ...before, loss: 0.2 + dice[0] * 0.6 }
    this.#later(span, () => {
      network.options = { ...network.options, loss: before.loss }
    })
  }

  // ---- time

  #pause({ dice, span }: Fault, suspended: boolean): void {
    const seat = this.#target(dice)
    if (seat?.state !== 'up') return
    const { life } = seat
    seat.pause()
    if (suspended) seat.clock.suspend(this.#world.now)
    // Not #later: a paused process is woken also when the faults are over.
    this.#world.after(span, () => {
      if (suspended) seat.clock.resume(this.#world.now)
      seat.resume(life)
    })
  }

  #stall({ dice, span }: Fault): void {
    this.#target(dice)?.stallAtNextReading(span)
  }

  #step({ dice }: Fault): void {
    const seat = this.#target(dice)
    if (seat === undefined) return
    const millis = dice[2] < 0.5 ? dice[3] * 3_600_000 : dice[3] * 2_000
    if (dice[2] < 0.75) seat.clock.stepWall(dice[2] % 0.1 < 0.05 ? millis : -millis)
    else if (this.#cluster.stepsClocks)
      seat.clock.step(this.#world.now, dice[3] < 0.4 ? -dice[3] * this.#cluster.electionTimeout : millis)
  }

  #drift({ dice }: Fault): void {
    const seat = this.#target(dice)
    seat?.clock.drift(this.#world.now, 1 + (dice[2] * 2 - 1) * this.#cluster.drift)
  }

  // ---- what an operator does

  #transfer({ dice }: Fault): void {
    const leader = this.#leader()
    const to = pick(this.#world.seats, dice[0])
    if (leader !== undefined && to !== undefined) leader.command((member, now) => member.transfer(to.id, now))
  }

  #change(fault: Fault): void {
    const leader = this.#leader()
    if (leader?.member === undefined) return
    const change = chooseChange(this.#cluster, leader.member.view.membership, fault.dice)
    if (change !== undefined) leader.command((member, now) => member.change(change, now))
  }

  #compact({ dice }: Fault): void {
    this.#target(dice)?.member?.compact()
  }
}

const pick = <T>(items: readonly T[], dice: number): T | undefined => items[Math.floor(dice * items.length)]

const hasMajority = ({ voters, outgoing }: Membership, has: (id: MemberId) => boolean): boolean =>
  (voters.length === 0 || isMajority(voters, has)) && (outgoing.length === 0 || isMajority(outgoing, has))
