// Rule: known bugs of the log, of the state machine, and of what both write to the disk.

import { checksum } from '@latchkey/base'
import type { PersistBatch } from '@latchkey/raft/core'
import { ANY_BODY } from '../../../../../packages/kv/dist/state/session-rows.js'
import { type Change, during, like } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import { readingOfMember, REMEMBER_CLOCK } from './member-clock.js'
import {
  inFlusher,
  inLockTables,
  inLogWriter,
  inMetaRow,
  inReads,
  inRecordDecoder,
  inSegmentWriter,
  inSendSnapshot,
  inSessions,
  inStateMachine,
} from './product-exports.js'

const SLOW_DISK = { syncBase: 3_000, syncTail: 200_000, faults: 2 } as const

/**
 * The log writer reports the batches that `isEarly` chooses as durable before they are synced. `isIdle` is
 * true if no other batch is being written.
 */
const SAYS_DURABLE_AT_ONCE = (isEarly: (batch: PersistBatch, isIdle: boolean) => boolean): Change =>
  inLogWriter(
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
    name: 'the state machine stores no answers',
    ids: ['C2', 'A7'],
    changes: [
      inSessions(
        'Sessions',
        (Real) =>
          class extends Real {
            override keep(...args: Parameters<InstanceType<typeof Real>['keep']>) {
              const [, , crc] = args
              if (crc === ANY_BODY) super.keep(...args)
            }
          },
      ),
    ],
    workload: 'kv',
    seeds: 200,
  },
  {
    name: 'a member sends messages before its log is synced',
    ids: ['L6', 'D8'],
    changes: [SAYS_DURABLE_AT_ONCE(() => true)],
    workload: 'power',
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
    workload: 'power',
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
      inSegmentWriter(
        'SegmentWriter',
        (Real) =>
          class extends Real {
            constructor(...[ports, at]: ConstructorParameters<typeof Real>) {
              const fs = like(ports.fs, { syncDir: (_, done) => queueMicrotask(() => done()) })
              super({ ...ports, fs }, at)
            }
          },
      ),
    ],
    workload: 'power',
    seeds: 200,
    options: { segmentBytes: 1_024, everyEntries: 20, faults: 2 },
  },
  {
    name: 'the state machine reads a clock during apply',
    ids: ['A1'],
    changes: [
      REMEMBER_CLOCK,
      inLockTables(
        'StateLockTransaction',
        (Real) =>
          class extends Real {
            constructor(...[state, now, granted, events]: ConstructorParameters<typeof Real>) {
              super(state, now + readingOfMember(), granted, events)
            }
          },
      ),
    ],
    workload: 'deadline',
    seeds: 50,
    options: { members: 3 },
  },
  {
    name: 'the applied index is written after the data',
    ids: ['A2'],
    changes: [
      inFlusher(
        'Flusher',
        (Real) =>
          class extends Real {
            constructor(...[clock, state, ...others]: ConstructorParameters<typeof Real>) {
              // The last row of a batch has the applied index.
              const write: typeof state.store.write = async (batch) => {
                await state.store.write(batch.slice(0, -1))
                await state.store.write(batch.slice(-1))
              }
              super(clock, like(state, { store: like(state.store, { write }) }), ...others)
            }
          },
      ),
    ],
    workload: 'power',
    seeds: 200,
    options: { rowsMost: 100_000, flushMillis: 5, faults: 2 },
  },
  {
    name: 'the log is compacted before the rows are synced',
    breaks: 'liveness',
    ids: ['S15'],
    changes: [
      inStateMachine(
        'KvMachine',
        (Real) =>
          class extends Real {
            override durable() {
              return this.position
            }
          },
      ),
    ],
    workload: 'power',
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
      inMetaRow('encodeMeta', (real) => (meta) => {
        const { position } = meta
        return real({ ...meta, position: { ...position, index: Math.max(0, position.index - 1) } })
      }),
    ],
    workload: 'power',
    seeds: 100,
  },
  {
    name: 'the log ignores the checksum of a record',
    ids: ['D2', 'D9'],
    changes: [
      inRecordDecoder('readRecord', (real) => (buffer, at, expected) => {
        const read = real(buffer, at, expected)
        const end = at + (buffer.length - at < 8 ? 0 : buffer.readUInt32LE(at + 4))
        if (read.type !== 'damaged' || end <= at + 4 || end > buffer.length) return read
        const mended = Buffer.from(buffer)
        mended.writeUInt32LE(checksum(buffer.subarray(at + 4, end), expected.previous), at)
        return real(mended, at, expected)
      }),
    ],
    workload: 'power',
    seeds: 100,
    options: {
      members: 3,
      clients: 5,
      think: 20,
      syncBase: 20_000,
      syncTail: 200_000,
      electionTimeout: 300,
      heartbeat: 30,
      // The files are large, so that a record without its end stays inside its file.
      segmentBytes: 65_536,
      growBytes: 16_384,
    },
    // One of the ten power losses comes during the write of a large record.
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
      inReads(
        'Reads',
        (Real) =>
          class extends Real {
            override serve() {
              super.serve(Number.MAX_SAFE_INTEGER)
            }
          },
      ),
    ],
    workload: 'kv',
    seeds: 200,
    options: { members: 3, embedded: 1 },
  },
  {
    name: 'the stored membership lacks the cluster id',
    ids: ['S6'],
    changes: [
      inMetaRow('encodeMeta', (real) => (meta) => {
        const { cluster: _, ...membership } = meta.membership
        return real({ ...meta, membership })
      }),
    ],
    workload: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
  {
    name: 'a leader without a state tries to send a snapshot without end',
    breaks: 'liveness',
    ids: ['D12', 'S8'],
    changes: [
      inSendSnapshot(
        'pumpSnapshot',
        (real) => (state, peer) => during(state, { rebuilding: false }, () => real(state, peer)),
      ),
    ],
    workload: 'kv',
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
