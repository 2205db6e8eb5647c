// Rule: makes the status that a member reports about itself and the other members.

import { type LeaderReply, leaderlessMessage, type MemberStatus, type Status } from '@latchkey/protocol'
import { type Membership, membersOf, type Replica } from '@latchkey/raft'
import type { ConnectionTimes } from './connected-since.js'

type OfProcess = Pick<Status, 'version' | 'uptimeMillis' | 'dateMillis'>

export function statusOf(
  replica: Replica,
  removed: string | undefined,
  times: ConnectionTimes,
  ofProcess: OfProcess,
): Status {
  const { node } = replica
  const { raft } = node
  const reply = leaderReplyOf(replica, raft.membership)
  const ids = membersOf(raft.membership)
  times.keepOnly(ids)
  return {
    id: node.options.id,
    role: raft.role,
    leader: raft.leader,
    term: raft.term,
    commit: raft.commit,
    applied: node.applied.position.index,
    clusterTime: Math.floor(node.clusterTime()),
    clusterId: replica.clusterId,
    members: ids.map((id) => memberStatus(replica, times, id, ofProcess.uptimeMillis)),
    ...ofProcess,
    ...(reply.id === undefined && {
      missing: [...(reply.missing ?? [])],
      whyNoLeader: removed ?? leaderlessMessage(reply),
    }),
  }
}

function memberStatus(
  { node, transport }: Replica,
  times: ConnectionTimes,
  id: string,
  uptimeMillis: number,
): MemberStatus {
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
    sinceMillis: Math.floor(self ? uptimeMillis : times.millisOf(id, uptimeMillis)),
  }
}

/** If no leader is known, the reply names the missing members. */
export function leaderReplyOf(replica: Replica, membership: Membership): LeaderReply {
  const { node, transport } = replica
  const { leader, term, role } = node.raft
  const self = node.options.id
  const members = membersOf(membership).map((id) => {
    const url = membership.peers[id]?.url ?? ''
    return [id, url, membership.learners.includes(id) ? 'learner' : 'voter'] as const
  })
  const waitsFor = replica.firstStartWaitsFor
  const isMissing = ([id, , kind]: (typeof members)[number]) =>
    kind === 'voter' && id !== self && !transport.connected(id)
  return {
    kind: 'leader',
    id: leader,
    url: leader === undefined ? undefined : node.raft.membership.peers[leader]?.url,
    term,
    role,
    self,
    clusterId: replica.clusterId,
    members,
    electionTimeout: Math.ceil(node.options.electionTimeout),
    missing: leader === undefined ? (waitsFor ?? members.filter(isMissing).map(([id]) => id)) : [],
    isFirstStart: leader === undefined && waitsFor !== undefined,
  }
}

export function whyNoLeader(replica: Replica): string | undefined {
  const reply = leaderReplyOf(replica, replica.node.raft.membership)
  return reply.id === undefined ? leaderlessMessage(reply) : undefined
}
