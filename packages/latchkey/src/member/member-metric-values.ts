// Rule: measures the values of a member for its metrics.

import type { KvStore } from '@latchkey/kv'
import type { MemberFigures } from '@latchkey/protocol'
import type { Replica } from '@latchkey/raft'

interface Measured {
  readonly replica: Replica
  readonly kv: KvStore
  /** How many clients are connected. */
  readonly clientConnections: number
}

export function memberFigures({ replica, clientConnections, kv }: Measured): MemberFigures {
  const { role, logEntries } = replica.node
  const { latches, barriers, atLatches, atBarriers } = kv.openSessions.partyCounts
  return {
    served_clients: clientConnections,
    revision: kv.revision,
    sessions: kv.openSessions.size,
    latches,
    barriers,
    ...lockFigures(kv, { latch: atLatches, barrier: atBarriers }),
    log_entries: logEntries,
    is_leader: role === 'leader' ? 1 : 0,
  }
}

function lockFigures({ openSessions }: KvStore, parties: Readonly<Record<string, number>>): MemberFigures {
  const figures = openSessions.lockFigures
  if (figures === undefined) return {}
  return {
    holds: figures.held,
    waiters: { ...figures.waiting, ...parties },
    permits_out: figures.permits,
    granted_total: figures.granted,
    expired_total: figures.expired,
    taken_total: figures.taken,
  }
}
