// Rule: what a member says of itself and of the others.

import type { MemberStatus, Status } from '@latchkey/protocol'
import { membersOf, type Replica } from '@latchkey/raft'

export function statusOf(replica: Replica): Status {
  const { node } = replica
  const { raft } = node
  return {
    id: node.options.id,
    role: raft.role,
    leader: raft.leader,
    term: raft.term,
    commit: raft.commit,
    applied: node.applied.position.index,
    clusterTime: Math.floor(node.clusterTime()),
    clusterId: replica.clusterId,
    members: membersOf(raft.membership).map((id) => memberStatus(replica, id)),
  }
}

function memberStatus({ node, transport }: Replica, id: string): MemberStatus {
  const { membership, lastIndex, progress, role } = node.raft
  const self = id === node.options.id
  const known = progress.find((one) => one.id === id)
  return {
    id,
    url: membership.peers[id]?.url ?? '',
    role: membership.learners.includes(id) ? 'learner' : 'voter',
    lag: self
      ? lastIndex - node.applied.position.index
      : role === 'leader'
        ? lastIndex - (known?.match ?? 0)
        : undefined,
    alive: self || transport.connected(id),
  }
}
