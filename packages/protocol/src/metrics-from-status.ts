// Rule: makes the metrics of one member from its status and its counters, for `store.metrics()` and for
// /metrics.

import type { Metric, Status } from './status-and-admin-types.js'

/** The numbers that a member counts. Some names have one number for each kind of hold or waiter. */
export type MemberFigures = Readonly<Record<string, number | Readonly<Record<string, number>>>>

/** The help text of each name in MemberFigures. A name without a help text is not a metric. */
const FIGURES: Readonly<Record<string, string>> = {
  certificate_expiry_timestamp_seconds:
    'When the first of the own certificates of this member expires, in seconds since 1970',
  client_connections: 'Open WebSocket connections of clients',
  unfinished_bytes: 'Bytes that were read of messages and bodies which are not whole yet',
  unread_bytes: 'Bytes that clients were told and have not read yet',
  served_clients: 'Clients that are served here, this process included',
  sessions: 'Sessions that are open in the store',
  latches: 'Latches in the store',
  barriers: 'Barriers in the store, those included that nobody waits at now',
  holds: 'Holds in force, by kind: lock, shared_lock, semaphore, election, web_lock',
  waiters: 'Calls that wait, by kind: those of holds, latch, barrier',
  permits_out: 'Permits of all semaphores that are out',
  granted_total: 'Holds that were granted since this member opened its state, by kind',
  expired_total: 'Holds whose lease ran out since this member opened its state, by kind',
  taken_total:
    'Holds that were ended by force (forceRelease, steal) since this member opened its state, by kind',
  revision: 'The revision of the last change applied here',
  log_entries: 'Entries in the Raft log on the disk',
}

export function memberMetrics(status: Status, figures: MemberFigures): Metric[] {
  const ofFigures = Object.entries(figures).flatMap(([name, value]) => {
    const help = FIGURES[name]
    return help === undefined ? [] : [ofFigure(`latchkey_${name}`, help, value)]
  })
  return [...statusMetrics(status), ...ofFigures, ...membersMetrics(status)]
}

const gauge = (name: string, help: string, value: number): Metric => ({
  name,
  help,
  type: 'gauge',
  values: [{ labels: {}, value }],
})

function ofFigure(name: string, help: string, value: MemberFigures[string]): Metric {
  if (typeof value === 'number') return gauge(name, help, value)
  const values = Object.entries(value).map(([kind, count]) => ({ labels: { kind }, value: count }))
  return { name, help, type: name.endsWith('_total') ? 'counter' : 'gauge', values }
}

function statusMetrics({
  role,
  leader,
  term,
  commit,
  applied,
  clusterTime,
  disk,
  members,
}: Status): Metric[] {
  const count = (kind: 'voter' | 'learner') => members.filter((member) => member.role === kind).length
  const ofDisk =
    disk === undefined
      ? []
      : [
          gauge(
            'latchkey_state_disk_bytes',
            'Bytes of the state on the disk of this member, its history included',
            disk.stateBytes,
          ),
          gauge('latchkey_log_disk_bytes', 'Bytes of the log on the disk of this member', disk.logBytes),
        ]
  return [
    gauge('latchkey_leader', 'Whether this member leads', role === 'leader' ? 1 : 0),
    gauge('latchkey_has_leader', 'Whether this member knows a leader', leader === undefined ? 0 : 1),
    gauge('latchkey_term', 'The current term', term),
    gauge('latchkey_commit_index', 'The last entry known to be committed', commit),
    gauge('latchkey_applied_index', 'The last entry applied here', applied),
    gauge('latchkey_cluster_time_seconds', 'Cluster time of the last entry applied here', clusterTime / 1000),
    ...ofDisk,
    gauge('latchkey_voters', 'Members that vote', count('voter')),
    gauge('latchkey_learners', 'Members that learn', count('learner')),
  ]
}

function membersMetrics({ id: self, members }: Status): Metric[] {
  const perMember = (
    name: string,
    help: string,
    valueOf: (member: Status['members'][number]) => number | undefined,
  ): Metric => ({
    name,
    help,
    type: 'gauge',
    values: members.flatMap((member) => {
      const value = valueOf(member)
      return value === undefined ? [] : [{ labels: { member: member.id }, value }]
    }),
  })
  return [
    perMember(
      'latchkey_member_lag_entries',
      'Entries that a member lacks, as the leader knows it',
      ({ lag }) => lag,
    ),
    perMember(
      'latchkey_member_connected_seconds',
      'How long a member has been connected with this one; left out while it is not, and for this one itself',
      ({ id, alive, sinceMillis }) =>
        alive === true && id !== self && sinceMillis !== undefined ? sinceMillis / 1000 : undefined,
    ),
    perMember('latchkey_member_alive', 'Whether a member was heard of lately', ({ alive }) =>
      alive === undefined ? undefined : Number(alive),
    ),
  ]
}
