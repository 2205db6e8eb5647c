// Driver: makes the faults of the list happen, and undoes all of them at the end.

import { killClient } from './clients/kill-client.js'
import type { FaultTarget } from './fault-target.js'
import {
  foreignAmongOthers,
  foreignDirectory,
  forgottenVote,
  statesLost,
  unseenRemoval,
} from './directed-faults.js'
import type { Host, MemoryConnection } from '@latchkey/raft/memory'
import type { MemberServer } from './members/member-server.js'
import { bothWays, cut, Nemesis, slowDisk, stop, type Undo } from '../world/nemesis.js'
import type { DrawnFault, FaultKind } from './draw-faults.js'
import type { WholeWorld } from './whole-world.js'

export class WholeNemesis extends Nemesis<DrawnFault> {
  readonly #world: WholeWorld

  constructor(world: WholeWorld) {
    super(world)
    this.#world = world
  }

  override end(): void {
    this.repairAll()
    super.end()
    this.#world.cuts.heal()
    fast([...this.#world.network.connections(), ...this.#world.clientNetwork.connections()])
    for (const server of this.#world.members) server.boot()
  }

  protected override changes(): void {
    this.#world.reach.changed(this.#world.time.now)
  }

  protected strike({ kind, who: number, other, millis }: DrawnFault): void {
    const { members } = this.#world
    const who = this.#server(number)
    if (kind === 'slowNet') this.#world.reach.end()
    const next = members.indexOf(who) + 1 + (other % Math.max(1, members.length - 1))
    ACTIONS[kind]({
      world: this.#world,
      who,
      peer: members[next % members.length] ?? who,
      client: this.#clientHost(other),
      millis,
      undo: this.undoAfter(millis * 1000),
    })
  }

  #server(number: number): MemberServer {
    const { members } = this.#world
    const leader = number < 0 ? this.#world.leader() : undefined
    return leader ?? (members[Math.max(0, number) % members.length] as MemberServer)
  }

  #clientHost(number: number): Host | undefined {
    const hosts = this.#world.hosts.filter(({ name }) => name.startsWith('p'))
    return hosts[number % hosts.length]
  }
}

const ACTIONS: Readonly<Record<FaultKind, (target: FaultTarget) => unknown>> = {
  kill: (target) => down(target, [target.who], false),
  power: (target) => down(target, [target.who], true),
  powerAll: (target) => down(target, target.world.members, true),
  pause: ({ who, undo }) => stop(who.host, false, undo),
  suspend: ({ who, undo }) => stop(who.host, true, undo),
  isolate: ({ world, who, undo }) => cutOff(world, who.host, undo),
  cut: ({ world, who, peer, undo }) => cut(world.cuts, bothWays(who.host, [peer.host]), undo),
  oneWay: ({ world, who, peer, undo }) => who !== peer && cut(world.cuts, [[who.host, peer.host]], undo),
  reset: ({ world, who }) => reset(world.network.connections(), who.host),
  slowNet: ({ world, who, millis }) =>
    slow([...world.network.connections(), ...world.clientNetwork.connections()], who.host, millis),
  slowDisk: ({ who, millis, undo }) => slowDisk(who, 1 + millis, undo),
  sickDisk: ({ who }) => who.sicken(),
  wall: ({ who, client, millis }) => {
    const sign = millis % 2 === 0 ? 1 : -1
    who.host.clock.stepWall(sign * millis * 500)
    client?.clock.stepWall(-sign * millis * 20)
  },
  // The clocks of both sides change at the same time, from the fastest allowed rate to the slowest, or back.
  rate: ({ world, who, client }) => {
    for (const host of [who.host, client])
      if (host !== undefined) host.clock.drift(world.time.now, 2 - host.clock.rate)
  },
  transfer: ({ world, who, peer }) => {
    const leader = world.leader() ?? who
    leader.transfer(peer === leader ? undefined : peer.id)
  },
  compact: ({ who }) => who.compact(),
  forgottenVote,
  statesLost,
  unseenRemoval,
  foreignDirectory,
  foreignAmongOthers,
  clientPause: ({ client, undo }) => client && stop(client, false, undo),
  clientSuspend: ({ client, undo }) => client && stop(client, true, undo),
  clientKill: ({ world, client }) => client && killClient(world, client),
  clientCut: ({ world, client, undo }) => client && cutOff(world, client, undo),
  clientReset: ({ world, client, who }) =>
    client && reset(world.clientNetwork.connections(), client.index % 2 === 0 ? client : who.host),
}

function down({ undo }: FaultTarget, members: readonly MemberServer[], power: boolean): void {
  for (const server of members) {
    if (server.host.life === undefined) continue
    server.crash(power)
    undo(() => server.boot())
  }
}

function cutOff({ cuts, members }: WholeWorld, host: Host, undo: Undo): void {
  const hosts = members.map((member) => member.host)
  cut(cuts, bothWays(host, hosts), undo)
}

const touches = (pipe: MemoryConnection, host: Host) =>
  pipe.hostOf(0) === host.index || pipe.hostOf(1) === host.index

function reset(pipes: readonly MemoryConnection[], host: Host): void {
  for (const pipe of pipes) if (touches(pipe, host)) pipe.break()
}

function slow(pipes: readonly MemoryConnection[], host: Host, millis: number): void {
  for (const pipe of pipes)
    if (touches(pipe, host)) pipe.slow = pipe.hostOf(0) === host.index ? [millis * 300, 0] : [0, millis * 300]
}

/**
 * Makes the network fast. A read through a follower needs three messages between follower and leader within
 * one election timeout.
 */
function fast(pipes: readonly MemoryConnection[]): void {
  for (const pipe of pipes) pipe.slow = [0, 0]
}
