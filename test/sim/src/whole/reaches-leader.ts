// Rule: decides when a client must find the leader in time.

import type { Cuts, Host } from '@latchkey/raft/memory'
import type { MemberServer } from './members/member-server.js'

interface World {
  readonly time: { readonly now: number }
  readonly cuts: Cuts
  readonly hosts: readonly Host[]
  /** The limit of a client's wait, in µs. */
  readonly reach: { readonly limit: number }
  leader(): MemberServer | undefined
  membersNow(): readonly MemberServer[]
}

/**
 * True if the leader reaches all other running members, this member reaches the leader or one of them, and
 * nothing is slow.
 */
export function reachesLeader(world: World, from: MemberServer): boolean {
  const leader = world.leader()
  const members = world.membersNow()
  const running = members.filter(({ host }) => host.life?.running === true && !host.dark)
  const reach = (a: MemberServer, b: MemberServer) =>
    !world.cuts.blocked(a.host.index, b.host.index) && !world.cuts.blocked(b.host.index, a.host.index)
  if (leader === undefined || !running.includes(leader) || running.length * 2 <= members.length) return false
  const others = running.filter((one) => one !== from && one !== leader)
  const isSlow = ({ slowness, slowUntil }: MemberServer) =>
    slowness > 1 || slowUntil + world.reach.limit > world.time.now
  if (members.some(isSlow) || !others.every((one) => reach(leader, one))) return false
  return from === leader || reach(from, leader) || others.some((one) => reach(from, one))
}

/** True if a running member leads, a majority of the members runs, and nothing is cut or slow. */
export function clientsReachLeader(world: World): boolean {
  const leader = world.leader()
  const members = world.membersNow()
  const running = members.filter(({ host }) => host.life?.running === true && !host.dark)
  const isCut = world.hosts.some((a) => world.hosts.some((b) => world.cuts.blocked(a.index, b.index)))
  const isSlow = members.some(({ slowness }) => slowness > 1)
  return leader?.host.life?.running === true && running.length * 2 > members.length && !isCut && !isSlow
}
