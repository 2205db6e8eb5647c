// Driver: faults that random draws make too seldom. Each of these faults waits for the right moment.

import type { Message } from '@latchkey/raft/core'
import type { Host } from '@latchkey/raft/memory'
import { bothWays, cut } from '../world/nemesis.js'
import type { FaultTarget } from './fault-target.js'
import { killClient } from './clients/kill-client.js'
import { insist } from './clients/members-worker.js'
import { LawBroken } from '../laws/verdict.js'
import { foreignServer } from './members/foreign-server.js'
import type { MemberServer } from './members/member-server.js'

/** In µs. A machine runs again this long after a power loss. */
const REBOOT = 20_000

/**
 * E1: a power loss must not make a member forget a sent vote. The leader is cut off, and another member wins
 * the election. The member with the decisive vote then loses power, and the new leader is cut off too. The
 * old leader does not know the new term, and asks for a vote in the same term.
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
    // Runs after the step in which the heir becomes leader.
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
 * D12: one member dies, and all others lose their states but keep their logs. One of them may have the only
 * log that can win an election. This member then leads without a state until the dead member returns.
 */
export function statesLost({ world, peer, undo }: FaultTarget): void {
  peer.crash(false)
  undo(() => peer.boot())
  for (const server of world.members) if (server !== peer) server.loseState()
}

/**
 * M12: the leader commits the removal of a follower and is killed. The follower has not received the removal,
 * and no later leader sends anything to the follower. But the follower still has an old connection to the
 * third member.
 */
export function unseenRemoval({ world, who: leader, peer: follower, undo }: FaultTarget): void {
  const { time, clients, network } = world
  // The store inside the follower waits until the follower knows of its removal, so the law of progress ends
  // now.
  world.reach.end()
  cut(world.cuts, bothWays(follower.host, [leader.host]), undo)
  follower.leftAlone = true
  const operator = clients.find(({ life }) => life.host.name.startsWith('p') && !life.dead)
  if (operator === undefined) throw new Error('the fault needs a client outside of the members')
  void insist(operator, () => operator.store.members.remove(follower.id, { timeout: 2_000 }))
  const off = network.overhear(() => {
    const membership = leader.replica?.node.applied.membership
    if (membership === undefined || membership.peers[follower.id] !== undefined) return
    off()
    time.later(0, () => leader.crash(false))
    time.later(REBOOT, () => leader.boot())
  })
  undo(off)
}

/**
 * M22, C30: the directory of another cluster is started at the address of the first member, with the same id
 * and this cluster's list of members. The foreign member leads its own cluster there. It must notice the
 * mistake and stop. It must serve no client, even if the client reaches only a few right members.
 */
export const foreignDirectory = (target: FaultTarget): void =>
  meetForeign(target, {
    // One client reaches all members, one cannot reach one of them, and one reaches only the foreign member.
    missed: (others) => [[], others.slice(0, 1), others],
    silence: SILENCE,
    mustStop: true,
  })

/**
 * C30: all new clients reach all members. Only the clients' own questions keep them from the foreign member.
 */
export const foreignAmongOthers = (target: FaultTarget): void =>
  meetForeign(target, { missed: () => [[], [], []], silence: 0, mustStop: false })

/**
 * In ms. The foreign member reaches nobody for this time. It waits longer for answers before it serves
 * clients.
 */
const SILENCE = 2_000

interface Meeting {
  /** The right members that each new client cannot reach. A new client knows no cluster yet. */
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
    // Runs after the step in which the member stops.
    time.later(0, () => foreign.crash(false))
  })
  // A client that goes from a foreign member to a right member may receive nothing for some time, so the law
  // of progress ends now.
  world.reach.end()
  // The foreign cluster is founded on a network without members of this cluster.
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
    // A member or client that has found two clusters serves nobody, so an operator starts it again.
    for (const host of world.hosts.filter(({ name }) => name.startsWith('p'))) killClient(world, host)
  })
}

const isVote = (message: Message) => message.type === 'voteReply' && message.granted
