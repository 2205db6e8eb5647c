// Rule: what a member has counted since it was opened, as metrics.

import type { Histogram } from '@latchkey/base'
import type { Metric, Status } from '@latchkey/protocol'
import type { Replica } from '@latchkey/raft'
import type { KvStore } from '@latchkey/kv'
import type { CallCounters } from './call-counters.js'

interface Counted {
  readonly replica: Replica
  readonly kv: KvStore
  readonly calls: CallCounters
  readonly queued: number
  readonly status: Pick<Status, 'version' | 'uptimeMillis' | 'commit' | 'applied' | 'disk'>
  /** The version of Node. */
  readonly node: string
}

export function memberCounters({ replica, kv, calls, queued, status, node }: Counted): Metric[] {
  return [
    ...ofProcess(status, node),
    ...ofConsensus(replica, status),
    ...ofTransport(replica),
    metric('gauge', 'latchkey_watches', 'Open watches at this member, of keys and of locks', kv.watchCount),
    metric(
      'gauge',
      'latchkey_commands_waiting',
      'Large commands that wait for their turn at the leader',
      queued,
    ),
    ...ofCalls(calls),
  ]
}

function ofProcess({ version, uptimeMillis, disk }: Counted['status'], node: string): Metric[] {
  return [
    labelled('gauge', 'latchkey_build_info', 'Always 1; the versions are its labels', [
      [{ version, node }, 1],
    ]),
    metric('gauge', 'latchkey_uptime_seconds', 'How long this member has been open', uptimeMillis / 1000),
    ...(disk === undefined
      ? []
      : [
          metric(
            'gauge',
            'latchkey_disk_free_bytes',
            'Bytes that are free on the disk of this member',
            disk.freeBytes,
          ),
        ]),
  ]
}

// long: one row for each metric
function ofConsensus(
  { node: { counters, pending } }: Replica,
  { commit, applied }: Counted['status'],
): Metric[] {
  return [
    metric(
      'gauge',
      'latchkey_apply_lag_entries',
      'Entries that are committed and not applied here yet',
      Math.max(0, commit - applied),
    ),
    metric(
      'counter',
      'latchkey_leader_changes_total',
      'How often this member heard of a leader of a new term',
      counters.leaderChanges,
    ),
    labelled(
      'counter',
      'latchkey_elections_total',
      'Elections of this member: started (one more for each try), won',
      [
        [{ result: 'started' }, counters.electionsStarted],
        [{ result: 'won' }, counters.electionsWon],
      ],
    ),
    labelled(
      'counter',
      'latchkey_proposals_total',
      'Commands that this member proposed as leader, by what became of them',
      [
        [{ outcome: 'committed' }, counters.committed],
        [{ outcome: 'refused' }, counters.refused],
        [{ outcome: 'unknown' }, counters.unknown],
      ],
    ),
    metric('gauge', 'latchkey_proposals_pending', 'Entries of this leader that are not applied yet', pending),
    histogram(
      'latchkey_commit_duration_seconds',
      'From the proposal of an entry at this leader to its being applied',
      [[{}, counters.commit]],
    ),
    histogram('latchkey_log_sync_duration_seconds', 'Each write to the log with its sync', [
      [{}, counters.logSync],
    ]),
    labelled(
      'counter',
      'latchkey_snapshots_total',
      'Snapshots of the state that were sent to other members, or taken from one',
      [
        [{ direction: 'sent' }, counters.snapshotsSent],
        [{ direction: 'received' }, counters.snapshotsReceived],
      ],
    ),
  ]
}

function ofTransport({ transport: { stats } }: Replica): Metric[] {
  if (stats === undefined) return []
  return [
    labelled('counter', 'latchkey_member_bytes_total', 'Bytes between this member and the others', [
      [{ direction: 'sent' }, stats.bytesSent],
      [{ direction: 'received' }, stats.bytesReceived],
    ]),
    metric(
      'counter',
      'latchkey_member_dropped_total',
      'Messages to other members that were dropped, because they were not connected or too slow',
      stats.dropped,
    ),
  ]
}

function ofCalls(calls: CallCounters): Metric[] {
  const rows = (name: string, counts: ReadonlyMap<string, number>) =>
    [...counts].map(([label, count]) => [{ [name]: label }, count] as const)
  return [
    labelled(
      'counter',
      'latchkey_requests_total',
      'Requests of clients by kind, through any door: WebSocket, HTTP, this process',
      rows('kind', calls.requests()),
    ),
    labelled(
      'counter',
      'latchkey_answers_total',
      'Answers to clients by code',
      rows('code', calls.answers()),
    ),
    histogram(
      'latchkey_request_duration_seconds',
      'From the arrival of a request at this member to its answer, measured for one request in sixteen',
      [
        [{ kind: 'write' }, calls.writes],
        [{ kind: 'read' }, calls.readTimes],
      ],
    ),
  ]
}

type Row<T> = readonly [labels: Record<string, string>, value: T]

const metric = (type: Metric['type'], name: string, help: string, value: number): Metric =>
  labelled(type, name, help, [[{}, value]])

const labelled = (
  type: Metric['type'],
  name: string,
  help: string,
  rows: readonly Row<number>[],
): Metric => ({ name, help, type, values: rows.map(([labels, value]) => ({ labels, value })) })

const histogram = (name: string, help: string, rows: readonly Row<Histogram>[]): Metric => ({
  name,
  help,
  type: 'histogram',
  values: rows.flatMap(([labels, found]) => {
    const counts = found.cumulative()
    const count = counts.at(-1) ?? 0
    const les = [...found.steps.map(String), '+Inf']
    return [
      ...les.map((le, i) => ({
        labels: { ...labels, le },
        value: counts[i] ?? 0,
        metricName: `${name}_bucket`,
      })),
      { labels, value: found.sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ]
  }),
})
