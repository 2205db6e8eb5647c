// Rule: which change of members an operator asks for next, from dice and what is there.

import type { MemberId, Membership, MembershipChange, Peer } from '@latchkey/raft/core'
import type { ClientConnection } from '../world/seat.js'

/** What the nemesis may do to the members beyond the world's own means. */
export interface Cluster {
  readonly drift: number
  readonly electionTimeout: number
  /** Whether this run's monotonic clocks may step, which they are promised not to do. */
  readonly stepsClocks: boolean
  /** Members whose disk is damaged for good. */
  readonly rotten: Set<MemberId>
  /** A new, empty member that waits to be added; undefined when there are enough. */
  recruit(): ClientConnection | undefined
  /** Damages durable bytes; false when there were none. */
  rot(seat: ClientConnection, place: number, bit: number): boolean
  /** Seats that are no longer in the configuration may come back. */
  idle(membership: Membership): readonly ClientConnection[]
}

const pick = <T>(items: readonly T[], dice: number): T | undefined => items[Math.floor(dice * items.length)]

export const peerOf = (id: MemberId): Peer => ({ url: `ws://${id}`, incarnation: `${id}-1` })

export function chooseChange(
  cluster: Cluster,
  membership: Membership,
  [what, who, how, more]: readonly [number, number, number, number],
): MembershipChange | undefined {
  const rotten = membership.voters.find((id) => cluster.rotten.has(id))
  if (rotten !== undefined && what < 0.5) return { type: 'remove', id: rotten }
  if (what < 0.35) return add(cluster, membership, who)
  if (what < 0.6) {
    const learner = pick(
      membership.learners.filter((id) => !cluster.rotten.has(id)),
      who,
    )
    return learner === undefined ? add(cluster, membership, who) : { type: 'promote', id: learner }
  }
  if (what < 0.8) return remove(cluster, membership, who)
  return replace(cluster, membership, who, how, more)
}

function add(cluster: Cluster, membership: Membership, who: number): MembershipChange | undefined {
  const seat = cluster.recruit() ?? pick(cluster.idle(membership), who)
  return seat === undefined ? undefined : { type: 'add-learner', id: seat.id, peer: peerOf(seat.id) }
}

function remove(cluster: Cluster, membership: Membership, who: number): MembershipChange | undefined {
  const id = pick([...membership.voters, ...membership.learners], who)
  if (
    id === undefined ||
    !leavesMajority(
      cluster,
      membership.voters.filter((other) => other !== id),
    )
  )
    return undefined
  return { type: 'remove', id }
}

/** A new set of voters and learners at once, through a joint configuration. */
function replace(
  cluster: Cluster,
  membership: Membership,
  who: number,
  how: number,
  more: number,
): MembershipChange | undefined {
  const pool = [
    ...membership.voters,
    ...membership.learners,
    ...cluster.idle(membership).map(({ id }) => id),
  ].filter((id) => !cluster.rotten.has(id))
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

function leavesMajority(cluster: Cluster, voters: readonly MemberId[]): boolean {
  return voters.length > 0 && voters.filter((id) => !cluster.rotten.has(id)).length * 2 > voters.length
}
