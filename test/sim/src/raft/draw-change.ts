// Rule: chooses the next change of members of an operator, from random numbers and the present members.

import type { MemberId, Membership, MembershipChange, Peer } from '@latchkey/raft/core'
import { incarnationOf, urlOf } from './raft-member.js'
import type { RaftWorld } from './raft-world.js'

const pick = <T>(items: readonly T[], dice: number): T | undefined => items[Math.floor(dice * items.length)]

export const peerOf = (id: MemberId): Peer => ({ url: urlOf(id), incarnation: incarnationOf(id) })

const isRotten = (world: RaftWorld, id: MemberId): boolean => world.find(id)?.rotten === true

export function chooseChange(
  world: RaftWorld,
  membership: Membership,
  [what, who, how, more]: readonly [number, number, number, number],
): MembershipChange | undefined {
  const rotten = membership.voters.find((id) => isRotten(world, id))
  if (rotten !== undefined && what < 0.5) return { type: 'remove', id: rotten }
  if (what < 0.35) return add(world, membership, who)
  if (what < 0.6) {
    const learner = pick(
      membership.learners.filter((id) => !isRotten(world, id)),
      who,
    )
    return learner === undefined ? add(world, membership, who) : { type: 'promote', id: learner }
  }
  if (what < 0.8) return remove(world, membership, who)
  return replace(world, membership, who, how, more)
}

function add(world: RaftWorld, membership: Membership, who: number): MembershipChange | undefined {
  const member = world.recruit() ?? pick(world.idle(membership), who)
  return member === undefined ? undefined : { type: 'add-learner', id: member.id, peer: peerOf(member.id) }
}

function remove(world: RaftWorld, membership: Membership, who: number): MembershipChange | undefined {
  const id = pick([...membership.voters, ...membership.learners], who)
  if (
    id === undefined ||
    !leavesMajority(
      world,
      membership.voters.filter((other) => other !== id),
    )
  )
    return undefined
  return { type: 'remove', id }
}

/** Replaces several members in one change, through a joint configuration. */
function replace(
  world: RaftWorld,
  membership: Membership,
  who: number,
  how: number,
  more: number,
): MembershipChange | undefined {
  const pool = [
    ...membership.voters,
    ...membership.learners,
    ...world.idle(membership).map(({ id }) => id),
  ].filter((id) => !isRotten(world, id))
  const mask = Math.floor(who * 65_536)
  const voters = pool.filter((_, i) => ((mask >> i) & 1) === 1).slice(0, 5)
  const rest = pool.filter((id) => !voters.includes(id))
  const learners = how < 0.5 ? [] : rest.filter((_, i) => ((Math.floor(more * 65_536) >> i) & 1) === 1)
  if (voters.length === 0) return undefined
  const ids = [...voters, ...learners]
  return {
    type: 'replace',
    voters: voters.sort(),
    learners: learners.sort(),
    peers: Object.fromEntries(ids.sort().map((id) => [id, membership.peers[id] ?? peerOf(id)])),
  }
}

function leavesMajority(world: RaftWorld, voters: readonly MemberId[]): boolean {
  return voters.length > 0 && voters.filter((id) => !isRotten(world, id)).length * 2 > voters.length
}
