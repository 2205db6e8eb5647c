// Driver: scenes that chance alone meets too rarely: they wait for their moment, and strike there.

import type { Message } from '@latchkey/raft/core'
import type { Host } from '@latchkey/raft/memory'
import { bothWays, cut } from '../world/nemesis.js'
import type { FaultTarget } from './fault-target.js'
import { killClient } from './clients/kill-client.js'
import { LawBroken } from '../laws/verdict.js'
import { foreignServer } from './members/foreign-server.js'
import type { MemberServer } from './members/member-server.js'

/** Microseconds that a machine needs to come back. */
const REBOOT = 20_000

/**
 * E1: a vote that was told is not forgotten by a power loss. The leader is cut off. As soon as another one
 * has heard the vote that makes it leader, whoever gave that vote loses power, and the new leader is cut off
 * instead: the old one knows nothing of that term, and asks for a vote in it too.
 */
export function forgottenVote({ world, who, undo }: FaultTarget): void {
  const { time, members, network } = world
  const hosts = members.map(({ host }) => host)
  const alone = (one: MemberServer) => cut(world.cuts, bothWays(one.host, hosts), undo)
  const meetAgain = alone(who)
  const off = network.overhear((message) => {
    if (!isVote(message) || message.to === who.id || message.from === who.id) return
    off()
    const [giver, heir] = [message.from, message.to].map((id) => members.find((one) => one.id === id))
    if (giver === undefined || heir === undefined) return
    // Behind the step that makes it leader.
    time.later(0, () => {
      giver.crash(true)
      alone(heir)
      meetAgain()
      time.later(REBOOT, () => giver.boot())
    })
  })
  undo(off)
}

/**
 * D12: one dies, and all others lose their states but not their logs. One of them may have the only log that
 * can win: it leads without a state to send, while others ask it for one, until the dead one is back.
 */
export function statesLost({ world, peer, undo }: FaultTarget): void {
  peer.crash(false)
  undo(() => peer.boot())
  for (const server of world.members) if (server !== peer) server.loseState()
}

/**
 * M22, C30: the directory of another cluster is started at the address of the first member, under the same
 * id, and with this cluster's list of members. It leads itself there. It must find out where it is, and stop;
 * and no client, however few of the right members it reaches meanwhile, may be served by it.
 */
export const foreignDirectory = (target: FaultTarget): void =>
  meetForeign(target, {
    // One that reaches all, one that misses a member, one that reaches the wrong one alone.
    missed: (others) => [[], others.slice(0, 1), others],
    silence: SILENCE,
    mustStop: true,
  })

/**
 * C30: all who come reach all members: what keeps them from the foreign one is their own asking, whatever
 * that one does.
 */
export const foreignAmongOthers = (target: FaultTarget): void =>
  meetForeign(target, { missed: () => [[], [], []], silence: 0, mustStop: false })

/** ms in which the foreign member reaches nobody: less than it waits for an answer before it serves. */
const SILENCE = 2_000

interface Meeting {
  /**
   * Of each client that comes meanwhile, and knows of no cluster yet: whom of the right members it does not
   * reach.
   */
  missed(others: readonly Host[]): readonly (readonly Host[])[]
  readonly silence: number
  readonly mustStop: boolean
}

function meetForeign({ world, undo }: FaultTarget, { missed, silence, mustStop }: Meeting): void {
  const { time, members, foreignProduct } = world
  const [place] = members
  if (place === undefined || foreignProduct === undefined)
    throw new Error('the scene needs a house of its own')
  const others = members.slice(1).map(({ host }) => host)
  let stoppedBy: Error | undefined
  const foreign = foreignServer(world, place.id, foreignProduct, (error) => {
    stoppedBy = error
    // Behind the step that it stops in.
    time.later(0, () => foreign.crash(false))
  })
  // Who is sent from a wrong member to a right one may hear nothing for a while.
  world.reach.end()
  // Its own cluster is founded first, where nobody meets it.
  foreign.boot()
  let isOver = false
  const begin = () => {
    if (isOver) return
    if (foreign.clusterId === '') return time.later(10_000, begin)
    foreign.crash(false)
    place.crash(false)
    foreign.given = Object.fromEntries(members.map(({ id, url }) => [id, url]))
    world.foreign = foreign
    world.records.twoClusters = true
    world.note(() => `${foreign.id} of another cluster stands at ${foreign.url}`)
    foreign.boot()
    if (silence > 0) time.later(silence * 1_000, cut(world.cuts, bothWays(foreign.host, others), undo))
    for (const hosts of missed(others)) cut(world.cuts, bothWays(world.addRemote(), hosts), undo)
  }
  begin()
  undo(() => {
    isOver = true
    const code = (stoppedBy as { code?: string } | undefined)?.code
    if (mustStop && world.foreign !== undefined && code !== 'ERR_WRONG_CLUSTER')
      time.fail(
        new LawBroken('one cluster', `the foreign member did not find out where it is: ${String(stoppedBy)}`),
      )
    foreign.retire()
    world.foreign = undefined
    place.boot()
    // Who met two clusters serves nobody any more: an operator starts it anew.
    for (const host of world.hosts.filter(({ name }) => name.startsWith('p'))) killClient(world, host)
  })
}

const isVote = (message: Message) => message.type === 'voteReply' && message.granted
