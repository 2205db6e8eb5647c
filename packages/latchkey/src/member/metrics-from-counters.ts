// Rule: converts the counters of a member to metrics.

import type { Histogram } from '@latchkey/base'
import type { Metric, Status } from '@latchkey/protocol'
import { membersOf, type Replica } from '@latchkey/raft'
import type { KvStore, StoreFigures } from '@latchkey/kv'
import { type CallCounters, type SourceCounters, CALL_SOURCES } from './call-counters.js'

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
    ...ofStore(kv.figures),
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
      'Elections that this member began, by reason; each attempt counts',
      Object.entries(counters.electionsStarted).map(([reason, count]) => [{ reason }, count]),
    ),
    metric(
      'counter',
      'latchkey_elections_won_total',
      'Elections that this member won',
      counters.electionsWon,
    ),
    labelled(
      'counter',
      'latchkey_proposals_total',
      'Commands that this member proposed as leader, by outcome',
      [
        [{ outcome: 'committed' }, counters.committed],
        [{ outcome: 'refused' }, counters.refused],
        [{ outcome: 'unknown' }, counters.unknown],
      ],
    ),
    metric('gauge', 'latchkey_proposals_pending', 'Entries of this leader that are not applied yet', pending),
    histogram(
      'latchkey_commit_duration_seconds',
      'Time from the proposal of an entry at this leader until the entry is applied',
      [[{}, counters.commit]],
    ),
    histogram(
      'latchkey_event_loop_delay_seconds',
      'How much too late a timer of this member ran; the measured timers are set to a tenth of a second or more',
      [[{}, counters.tickDelay]],
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

function ofTransport({ transport, node }: Replica): Metric[] {
  const { stats } = transport
  if (stats === undefined) return []
  const known = membersOf(node.raft.membership)
  const peers = [...(transport.peerStats?.() ?? [])].filter(([id]) => known.includes(id))
  return [
    labelled(
      'gauge',
      'latchkey_member_round_trip_seconds',
      'How long the last answer of that member to a ping took, or how long the present one has waited',
      peers.flatMap(([member, { roundTripMillis }]) =>
        roundTripMillis === undefined ? [] : [[{ member }, roundTripMillis / 1000] as const],
      ),
    ),
    labelled(
      'counter',
      'latchkey_member_bytes_total',
      'Bytes that this member sent to each other member, or received from it',
      peers.flatMap(([member, { bytesSent, bytesReceived }]) => [
        [{ member, direction: 'sent' }, bytesSent] as const,
        [{ member, direction: 'received' }, bytesReceived] as const,
      ]),
    ),
    metric(
      'counter',
      'latchkey_member_dropped_total',
      'Messages that were dropped because the receiving member was not connected or too slow',
      stats.dropped,
    ),
  ]
}

// long: one row for each metric
function ofStore({ watches, watchLags, writes, level, longestWaits }: StoreFigures): Metric[] {
  const byKind = (counts: Readonly<Record<string, number>>, divisor = 1) =>
    Object.entries(counts).map(([kind, count]) => [{ kind }, count / divisor] as const)
  return [
    metric('gauge', 'latchkey_watches', 'Open watches at this member, of keys and of locks', watches),
    labelled(
      'gauge',
      'latchkey_watch_lag',
      'Revisions (of kind keys) or events (of kind locks or renewals) that the slowest watch has not read yet',
      byKind({ ...watchLags }),
    ),
    labelled(
      'gauge',
      'latchkey_longest_wait_seconds',
      'How long the oldest waiter has waited, in cluster time, by kind; 0: nobody waits',
      byKind(longestWaits ?? {}, 1000),
    ),
    histogram('latchkey_state_write_duration_seconds', 'Each write to the state with its sync', [
      [{}, writes],
    ]),
    ...(level === undefined ? [] : ofLevelDb(level)),
  ]
}

const ofLevelDb = ({
  tables,
  mergeSeconds,
  mergeRead,
  mergeWritten,
}: NonNullable<StoreFigures['level']>): Metric[] => [
  labelled(
    'gauge',
    'latchkey_leveldb_tables',
    'Tables of LevelDB by level; with 8 at level 0 writes are slowed down, with 12 they wait',
    tables.map((count, at) => [{ level: String(at) }, count]),
  ),
  metric(
    'counter',
    'latchkey_leveldb_merge_seconds_total',
    'Time that LevelDB has spent merging tables, in whole seconds',
    mergeSeconds,
  ),
  labelled(
    'counter',
    'latchkey_leveldb_merge_bytes_total',
    'Bytes that LevelDB has read and written to merge tables, in steps of a mebibyte',
    [
      [{ direction: 'read' }, mergeRead],
      [{ direction: 'written' }, mergeWritten],
    ],
  ),
]

function ofCalls(calls: CallCounters): Metric[] {
  const rows = (name: string, countsOf: (counters: SourceCounters) => ReadonlyMap<string, number>) =>
    CALL_SOURCES.flatMap((door) =>
      [...countsOf(calls[door])].map(([label, count]) => [{ door, [name]: label }, count] as const),
    )
  return [
    labelled(
      'counter',
      'latchkey_requests_total',
      'Requests of clients by kind, and by source (door): websocket, process (the embedded store, and HTTP), member',
      rows('kind', (counters) => counters.requests()),
    ),
    labelled(
      'counter',
      'latchkey_answers_total',
      'Answers to clients by code, and by source (door)',
      rows('code', (counters) => counters.answers()),
    ),
    histogram(
      'latchkey_request_duration_seconds',
      'From the arrival of a request at this member to its answer, measured for one request in sixteen',
      CALL_SOURCES.flatMap((door) => [
        [{ door, kind: 'write' }, calls[door].writes] as const,
        [{ door, kind: 'read' }, calls[door].readTimes] as const,
      ]),
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
