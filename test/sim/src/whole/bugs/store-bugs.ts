// Rule: known bugs of retries, of apply, and of what is on disk.

import type { PersistBatch } from '@latchkey/raft/core'
import type * as metaRow from '../../../../../packages/kv/dist/state/meta-row.js'
import type * as sendSnapshot from '../../../../../packages/raft/dist/core/send-snapshot.js'
import type * as reads from '../../../../../packages/raft/dist/node/linearizable-reads.js'
import type * as logWriter from '../../../../../packages/raft/dist/node/log-writer.js'
import { type Change, during, replaced } from '../../run/changed-packages.js'
import { edit, type WholeBug } from './bug.js'

const SLOW_DISK = { syncBase: 3_000, syncTail: 200_000, faults: 2 } as const

/** Batches of that kind count as durable before they are synced; `isIdle`: no other one is being written. */
const SAYS_DURABLE_AT_ONCE = (isEarly: (batch: PersistBatch, isIdle: boolean) => boolean): Change =>
  replaced<typeof logWriter, 'LogWriter'>(
    'raft/node/log-writer',
    'LogWriter',
    (Real) =>
      class extends Real {
        constructor(...[log, durable, failed, meter]: ConstructorParameters<typeof Real>) {
          let writing = 0
          const append: typeof log.append = (batch, done) => {
            const early = isEarly(batch, writing === 0)
            writing++
            if (early) queueMicrotask(() => done())
            log.append(batch, (error) => {
              writing--
              if (!early) done(error)
              else if (error !== undefined) failed(error)
            })
          }
          super({ append, compact: (index) => log.compact(index) }, durable, failed, meter)
        }
      },
  )

export const storeBugs: readonly WholeBug[] = [
  {
    name: 'the state machine ignores its stored answers',
    ids: ['C2', 'A7'],
    changes: [
      edit('kv/rules/apply-entry', 'const kept = session.replies.get(number);', 'const kept = undefined;'),
    ],
    profile: 'kv',
    seeds: 200,
  },
  {
    name: 'a member sends messages before its log is synced',
    ids: ['L6', 'D8'],
    changes: [SAYS_DURABLE_AT_ONCE(() => true)],
    profile: 'power',
    seeds: 200,
    options: SLOW_DISK,
  },
  {
    name: 'a member sends a vote before the vote is durable',
    ids: ['E1'],
    changes: [
      SAYS_DURABLE_AT_ONCE(
        ({ entries, restartAfter, truncateFrom }, isIdle) =>
          isIdle && entries.length === 0 && restartAfter === undefined && truncateFrom === undefined,
      ),
    ],
    profile: 'power',
    seeds: 20,
    options: { members: 3, syncBase: 30_000, netTail: 0, electionTimeout: 300, heartbeat: 30 },
    faults: [1_500_000, 4_500_000].map((at) => ({
      at,
      kind: 'forgottenVote',
      who: -1,
      other: 0,
      millis: 2_500,
    })),
  },
  {
    name: 'the log does not sync its folder after a new segment',
    ids: ['D7'],
    changes: [
      edit(
        'raft/wal/segment-writer',
        'fs.syncDir(dir, (error) => {',
        '((_, done) => queueMicrotask(() => done()))(dir, (error) => {',
      ),
    ],
    profile: 'power',
    seeds: 200,
    options: { segmentBytes: 1_024, everyEntries: 20, faults: 2 },
  },
  {
    name: 'the state machine reads a clock during apply',
    ids: ['A1'],
    changes: [
      edit(
        'kv/key-value-state-machine',
        'const locks = new StateLockTransaction(state, entry.time,',
        'const locks = new StateLockTransaction(state, entry.time + (Math.floor(this.#options.clock.now()) % 50),',
      ),
    ],
    profile: 'deadline',
    seeds: 50,
    options: { members: 3 },
  },
  {
    name: 'the applied index is written after the data',
    ids: ['A2'],
    changes: [
      edit(
        'kv/flusher',
        'await this.#state.store.write(this.#state.collect());',
        'const batch = this.#state.collect(); const meta = batch.pop(); await this.#state.store.write(batch); await this.#state.store.write([meta]);',
      ),
    ],
    profile: 'power',
    seeds: 200,
    options: { rowsMost: 100_000, flushMillis: 5, faults: 2 },
  },
  {
    name: 'the log is compacted before the rows are synced',
    ids: ['S15'],
    changes: [
      edit('kv/flusher', 'this.#writing = position;', 'this.#writing = position; this.#durable = position;'),
    ],
    profile: 'power',
    seeds: 300,
    options: {
      rowsMost: 100_000,
      flushMillis: 5,
      everyEntries: 4,
      segmentBytes: 1_024,
      faults: 2,
      members: 1,
    },
  },
  {
    name: 'the stored applied index is one too small',
    ids: ['A2'],
    changes: [
      replaced<typeof metaRow, 'encodeMeta'>('kv/state/meta-row', 'encodeMeta', (real) => (meta) => {
        const { position } = meta
        return real({ ...meta, position: { ...position, index: Math.max(0, position.index - 1) } })
      }),
    ],
    profile: 'power',
    seeds: 100,
  },
  {
    name: 'the log ignores the checksum of a record',
    ids: ['D2', 'D9'],
    changes: [
      edit(
        'raft/wal/record-decoder',
        "if (sum !== buffer.readUInt32LE(at)) return damaged('a checksum that does not match');",
        '',
      ),
    ],
    profile: 'power',
    seeds: 100,
    options: {
      members: 3,
      clients: 5,
      think: 20,
      syncBase: 20_000,
      syncTail: 200_000,
      electionTimeout: 300,
      heartbeat: 30,
      // So that a record whose end is lost is not simply too long for its file.
      segmentBytes: 65_536,
      growBytes: 16_384,
    },
    // Often enough that one comes while a large record is on its way to the disk.
    faults: Array.from({ length: 10 }, (_, i) => ({
      at: 600_000 + i * 500_000,
      kind: 'power',
      who: i % 3,
      other: 0,
      millis: 40,
    })),
  },
  {
    name: 'a member answers a read before it has applied the index of the read',
    ids: ['R4'],
    changes: [
      replaced<typeof reads, 'Reads'>(
        'raft/node/linearizable-reads',
        'Reads',
        (Real) =>
          class extends Real {
            override serve() {
              super.serve(Number.MAX_SAFE_INTEGER)
            }
          },
      ),
    ],
    profile: 'kv',
    seeds: 200,
    options: { members: 3, embedded: 1 },
  },
  {
    name: 'the stored membership lacks the cluster id',
    ids: ['M13'],
    changes: [
      replaced<typeof metaRow, 'encodeMeta'>('kv/state/meta-row', 'encodeMeta', (real) => (meta) => {
        const { cluster: _, ...membership } = meta.membership
        return real({ ...meta, membership })
      }),
    ],
    profile: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
  {
    name: 'a leader without a state tries to send a snapshot without end',
    ids: ['D12', 'S8'],
    changes: [
      replaced<typeof sendSnapshot, 'pumpSnapshot'>(
        'raft/core/send-snapshot',
        'pumpSnapshot',
        (real) => (state, peer) => during(state, { rebuilding: false }, () => real(state, peer)),
      ),
    ],
    profile: 'kv',
    seeds: 20,
    options: { members: 3, everyEntries: 10, electionTimeout: 200, heartbeat: 20 },
    faults: [2_000_000, 5_500_000].map((at) => ({
      at,
      kind: 'statesLost',
      who: -1,
      other: 0,
      millis: 2_000,
    })),
  },
]
