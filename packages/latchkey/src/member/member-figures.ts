// Rule: the metrics of a member.

import type { Member } from './member.js'

export function memberFigures({ replica, clientConnections, kv }: Member): Readonly<Record<string, number>> {
  const { raft } = replica.node
  return {
    served_clients: clientConnections,
    revision: kv.revision,
    sessions: kv.openSessions.size,
    log_entries: raft.lastIndex - raft.firstIndex + 1,
    is_leader: raft.role === 'leader' ? 1 : 0,
  }
}
