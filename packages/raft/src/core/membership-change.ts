// Rule: membership changes: which membership a change leads to, and whether it may be proposed now.
//
// Laws
//   - one change at a time: a change is refused while an earlier change is not committed, or while a joint
//     configuration is in force (M3).
//   - the leader proposes no change before it has committed an entry of its own term (M1). Without this law,
//     single-server changes can lose a committed entry. Diego Ongaro reported this bug of Raft in 2015.
//   - a change of more than one voter goes through a joint configuration (M4). In a joint configuration, a
//     majority of the old voters and a majority of the new voters must agree.
//   - a new voter was a learner before, and its log has caught up (M8, M10).

import { isJoint, isMember, membersOf, sorted, whyInvalid } from './membership.js'
import type { Leading, State } from './state.js'
import type { MemberId, Membership, MembershipChange, Peer } from './types.js'

export type ChangeRefusal = {
  readonly reason: 'pending' | 'lagging' | 'invalid' | 'transferring'
  readonly why: string
}
type Plan = { readonly next: Membership } | { readonly why: string }
type Peers = Readonly<Record<MemberId, Peer>>

export function planChange(
  state: State,
  leading: Leading,
  change: MembershipChange,
): Membership | ChangeRefusal {
  const now = state.membership
  if (leading.transfer !== undefined) return refusal('transferring', 'the lead is being handed over')
  if (state.commit < leading.firstIndex) {
    return refusal('pending', 'no entry of this term is committed yet (M1)')
  }
  if (isJoint(now) || state.configs.index > state.commit) {
    return refusal('pending', 'another change is under way (M3)')
  }
  const plan = targetOf(now, change)
  if ('why' in plan) return refusal('invalid', plan.why)
  const next = throughJoint(now, plan.next)
  const why = whyInvalid(next)
  if (why !== undefined) return refusal('invalid', why)
  const late = next.voters.find((id) => !now.voters.includes(id) && !hasKeptUp(state, leading, id))
  return late === undefined ? next : refusal('lagging', `${late} does not hold enough of the log yet`)
}

const refusal = (reason: ChangeRefusal['reason'], why: string): ChangeRefusal => ({ reason, why })

/**
 * True if the learner's durable log has all entries that were committed an election timeout ago, and the
 * learner has answered within an election timeout.
 */
function hasKeptUp(state: State, { byId, commitSamples }: Leading, id: MemberId): boolean {
  const peer = byId.get(id)
  if (peer?.state !== 'replicate') return false
  return peer.match >= commitSamples.older && state.clock - peer.answeredAt < state.options.electionTimeout
}

function targetOf(now: Membership, change: MembershipChange): Plan {
  switch (change.type) {
    case 'found':
      return found(now, change)
    case 'add-learner':
      return addLearner(now, change.id, change.peer)
    case 'promote':
      return promote(now, change.id)
    case 'remove':
      return remove(now, change.id)
    case 'update':
      return update(now, change.id, change.peer)
    case 'replace':
      return replace(now, change)
  }
}

function found(
  now: Membership,
  { cluster, incarnations }: Extract<MembershipChange, { type: 'found' }>,
): Plan {
  if (now.cluster !== undefined) return { why: 'this cluster has its id already' }
  const peers = Object.entries(now.peers).map(([id, peer]) => {
    return [id, peer.incarnation === '' ? { ...peer, incarnation: incarnations[id] ?? '' } : peer] as const
  })
  return { next: { ...now, cluster, peers: Object.fromEntries(peers) } }
}

function addLearner(now: Membership, id: MemberId, peer: Peer): Plan {
  if (isMember(now, id)) return { why: `${id} is a member already` }
  return { next: { ...now, learners: sorted([...now.learners, id]), peers: { ...now.peers, [id]: peer } } }
}

function promote(now: Membership, id: MemberId): Plan {
  if (!now.learners.includes(id)) return { why: `${id} is no learner` }
  return { next: { ...now, voters: sorted([...now.voters, id]), learners: without(now.learners, id) } }
}

function remove(now: Membership, id: MemberId): Plan {
  if (!isMember(now, id)) return { why: `${id} is no member` }
  const next = { ...now, voters: without(now.voters, id), learners: without(now.learners, id) }
  return { next: withPeers(next, now.peers) }
}

function update(now: Membership, id: MemberId, peer: Peer): Plan {
  const known = now.peers[id]
  if (known === undefined || !isMember(now, id)) return { why: `${id} is no member` }
  if (known.incarnation !== '' && known.incarnation !== peer.incarnation) {
    return { why: `another incarnation of ${id} is another member: remove ${id} first (M13)` }
  }
  if (known.url === peer.url && known.incarnation === peer.incarnation) return { why: 'nothing would change' }
  return { next: { ...now, peers: { ...now.peers, [id]: peer } } }
}

function replace(now: Membership, change: Extract<MembershipChange, { type: 'replace' }>): Plan {
  const { voters, learners, peers } = change
  for (const [id, peer] of Object.entries(now.peers)) {
    const given = peers[id]
    if (given === undefined || peer.incarnation === '' || peer.incarnation === given.incarnation) continue
    return { why: `another incarnation of ${id} is another member: remove ${id} first (M13)` }
  }
  const next = { ...now, voters: sorted(voters), learners: sorted(learners), peers }
  const same = (a: readonly MemberId[], b: readonly MemberId[]) => a.join('\n') === b.join('\n')
  if (same(next.voters, now.voters) && same(next.learners, now.learners) && samePeers(now.peers, peers)) {
    return { why: 'nothing would change' }
  }
  return { next }
}

function samePeers(a: Peers, b: Peers): boolean {
  const ids = Object.keys(a)
  return (
    ids.length === Object.keys(b).length &&
    ids.every((id) => a[id]?.url === b[id]?.url && a[id]?.incarnation === b[id]?.incarnation)
  )
}

const without = (ids: readonly MemberId[], id: MemberId) => ids.filter((other) => other !== id)

function withPeers(membership: Membership, peers: Peers): Membership {
  const entries = membersOf(membership).map((id) => [id, peers[id]] as const)
  return { ...membership, peers: Object.fromEntries(entries) as Record<MemberId, Peer> }
}

/**
 * True if the two memberships have the same voters, learners and addresses. A missing address may be added. A
 * leader proposes such changes by itself, to record the cluster's id, and each member's address and
 * incarnation (the random id of its data directory).
 */
export function isBookKeeping(now: Membership, next: Membership): boolean {
  const lists = ({ voters, outgoing, learners, learnersNext }: Membership) =>
    [voters, outgoing, learners, learnersNext].map((ids) => ids.join('\n')).join('\n\n')
  return (
    lists(now) === lists(next) &&
    Object.entries(now.peers).every(([id, { url }]) => url === '' || url === next.peers[id]?.url)
  )
}

/**
 * Returns the next membership, which is a joint configuration if more than one voter changes. With one voter
 * more or less, each old quorum shares a member with each new quorum, so no joint configuration is needed.
 */
function throughJoint(now: Membership, target: Membership): Membership {
  const come = target.voters.filter((id) => !now.voters.includes(id))
  const gone = now.voters.filter((id) => !target.voters.includes(id))
  if (come.length + gone.length <= 1) return target
  const joint = {
    ...target,
    outgoing: now.voters,
    learners: target.learners.filter((id) => !now.voters.includes(id)),
    learnersNext: target.learners.filter((id) => now.voters.includes(id)),
  }
  return withPeers(joint, { ...now.peers, ...target.peers })
}

export function leftJoint(joint: Membership): Membership {
  const learners = sorted([...joint.learners, ...joint.learnersNext])
  return withPeers({ ...joint, outgoing: [], learners, learnersNext: [] }, joint.peers)
}
