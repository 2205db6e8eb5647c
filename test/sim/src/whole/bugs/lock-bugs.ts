// Rule: known bugs of locks: of their time, their tokens, their queues and their retries.

import type { Instant } from '@latchkey/base'
import type * as clock from '../../../../../packages/base/dist/clock.js'
import type * as counters from '../../../../../packages/kv/dist/state/fencing-counters.js'
import type * as bound from '../../../../../packages/lock/dist/holding/cluster-time-bound.js'
import type * as lockReads from '../../../../../packages/lock/dist/rules/lock-reads.js'
import { holdOf } from '../../../../../packages/lock/dist/rules/lock-reads.js'
import type * as queue from '../../../../../packages/lock/dist/rules/queue.js'
import type * as release from '../../../../../packages/lock/dist/rules/release.js'
import type * as clusterTime from '../../../../../packages/raft/dist/core/cluster-time.js'
import type * as node from '../../../../../packages/raft/dist/node/node.js'
import { TIME_OF_LAST_ENTRY } from '../../bugs/read-bugs.js'
import { replaced } from '../../run/changed-packages.js'
import { edit, type WholeBug } from './bug.js'

const LEARN = replaced<typeof bound, 'ClusterTimeBound'>(
  'lock/holding/cluster-time-bound',
  'ClusterTimeBound',
  (Real) =>
    class extends Real {
      override learn(time: number, _: Instant, now: Instant) {
        super.learn(time, now, now)
      }
    },
)
/** Answers that take long, and clocks that differ as much as they may. */
const LATE = { netBase: 2_000, netTail: 60_000, clocks: 'extreme', faults: 2, locks: 1 } as const

export const timeBugs: readonly WholeBug[] = [
  {
    name: 'a holder counts its lease from the answer',
    ids: ['K4'],
    changes: [LEARN],
    profile: 'deadline',
    seeds: 300,
    options: LATE,
  },
  {
    name: 'a holder computes its time bound from a stored answer',
    ids: ['K5'],
    changes: [
      edit(
        'client/engine/active-link',
        'return reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer;',
        `const told = reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer;
         if (reply.time === 0 && told[0] === 0 && told[1]?.[0]?.length === 8) this.#learn(told[1][0][7], this.#sendTimes.take());
         return told;`,
      ),
    ],
    profile: 'deadline',
    seeds: 500,
    options: LATE,
  },
  {
    name: 'the answer to a read has the time of the last applied entry',
    ids: ['K4'],
    changes: [TIME_OF_LAST_ENTRY],
    profile: 'deadline',
    seeds: 300,
    options: LATE,
  },
  {
    name: 'the leader limits elapsed time per entry instead of per reading',
    ids: ['K2'],
    changes: [
      edit('raft/core/leader', 'leading.clock.read(state.now);', ''),
      // Whoever asks for the time only looks: no reading but that of an entry.
      edit(
        'raft/core/cluster-time',
        'read(now) {',
        'look(now) { return Math.floor(this.#sum + Math.min(Math.max(0, now - this.#reading), this.#clamp)); } read(now) {',
      ),
      edit(
        'raft/core/raft',
        'log.last.time : leading.clock.read(now)',
        'log.last.time : leading.clock.look(now)',
      ),
    ],
    profile: 'deadline',
    seeds: 50,
  },
  {
    name: 'a new leader starts with a clock reading from before a stall',
    ids: ['K41'],
    changes: [
      replaced<typeof clusterTime, 'ClusterClock'>(
        'raft/core/cluster-time',
        'ClusterClock',
        (Real) =>
          class extends Real {
            constructor(last: number, now: number, clamp: number) {
              super(last, now - clamp, clamp)
            }
          },
      ),
    ],
    profile: 'deadline',
    seeds: 100,
  },
  {
    name: 'a leader sets a time from a clock reading before a stall',
    ids: ['K41'],
    changes: [
      edit(
        'raft/node/node',
        'return this.#ports.clock.now();',
        'return (this.reading ??= this.#ports.clock.now());',
      ),
      edit(
        'raft/node/node',
        'const now = this.#now(); this.#step((raft) => raft.tick(now));',
        'this.reading = undefined; const now = this.#now(); this.#step((raft) => raft.tick(now));',
      ),
    ],
    profile: 'deadline',
    seeds: 100,
  },
  {
    name: 'the elapsed time compares the largest clocks of two moments',
    ids: ['T3'],
    changes: [
      replaced<typeof clock, 'elapsed'>(
        'base/clock',
        'elapsed',
        () => (from, to) =>
          Math.max(0, Math.max(to.hr, to.up, to.wall) - Math.max(from.hr, from.up, from.wall)),
      ),
    ],
    profile: 'deadline',
    seeds: 300,
    options: { ...LATE, lease: [1_000, 3_000] },
  },
  {
    name: 'the leader measures cluster time with its wall clock',
    ids: ['K1', 'K3'],
    changes: [
      replaced<typeof node, 'RaftNode'>(
        'raft/node/node',
        'RaftNode',
        (Real) =>
          class extends Real {
            constructor(...[options, ports, boot]: ConstructorParameters<typeof Real>) {
              const { clock } = ports
              const wall = {
                now: () => clock.instant().wall,
                instant: () => clock.instant(),
                after: clock.after.bind(clock),
              }
              super(options, { ...ports, clock: wall }, boot)
            }
          },
      ),
    ],
    profile: 'deadline',
    seeds: 200,
  },
  {
    name: 'a holder computes its time bound from a push',
    ids: ['K4'],
    changes: [
      edit(
        'client/engine/link-reports',
        'return grants.granted(reply.key, reply.owner);',
        'this.#to.bound.learn(reply.owner[7], activeLink.now(), activeLink.now()); return grants.granted(reply.key, reply.owner);',
      ),
    ],
    profile: 'waiters',
    seeds: 500,
    options: LATE,
  },
]

export const ruleBugs: readonly WholeBug[] = [
  {
    name: 'a waiter whose session has ended gets the lock',
    ids: ['K13'],
    changes: [
      edit(
        'lock/rules/queue',
        'if (life === undefined || waitIsOver(next, tx.now)) { others.push(...remove(tx, next)); continue; }',
        '',
      ),
      edit('lock/rules/queue', 'tx.now + Math.min(waiter.lease, life)', 'tx.now + waiter.lease'),
      edit(
        'lock/rules/expiry',
        'for (const waiter of tx.dueWaiters()) if (waitIsOver(waiter, tx.now)) changed.push(...remove(tx, waiter));',
        'tx.dueWaiters();',
      ),
    ],
    profile: 'waiters',
    seeds: 100,
  },
  {
    name: 'the end of a session releases its holds',
    ids: ['K14'],
    changes: [
      edit(
        'lock/rules/expiry',
        'export function removeWaiters(tx, session) {',
        `export function removeWaiters(tx, session) {
         const freed = [...tx.state.holds.held()].filter((row) => row.session === session);
         for (const row of freed) { tx.deleteHold(row); grantNext(tx, row.key, CODE.FIRST_TIME); }`,
      ),
      edit(
        'kv/state/holds',
        '*rows() {',
        '*held() { for (const { row } of this.#byKey.values()) yield row; } *rows() {',
      ),
    ],
    profile: 'deadline',
    seeds: 300,
    options: { sessionLife: 1_500, lease: [3_000, 9_000], faults: 2 },
  },
  {
    name: 'a renewal after the release creates the hold again',
    ids: ['K7'],
    changes: [
      edit(
        'lock/rules/acquire',
        'if (!inForce(row, tx.now)) return bare(keepLeaseFailed(exclusive, id, tx.now));',
        `if (!inForce(row, tx.now)) {
           const again = { key, id, token, acquires: 1, deadline: tx.now + lease, context: null, fencingKey: null, session: 0, touchBy: 0, code: 0, since: tx.now, permits: 0, arrival: tx.nextArrival() };
           tx.putHold(again);
           return bare(acquired(again, CODE.KEEP_LEASE, tx.now));
         }`,
      ),
    ],
    profile: 'renewing',
    seeds: 100,
  },
  {
    name: 'after a restart, a member counts tokens from the beginning',
    ids: ['K20'],
    changes: [
      replaced<typeof counters, 'Counters'>(
        'kv/state/fencing-counters',
        'Counters',
        (Real) =>
          class extends Real {
            override async load() {}
          },
      ),
    ],
    profile: 'renewing',
    seeds: 100,
  },
  {
    name: 'a release grants the lock to no waiter',
    ids: ['K16'],
    changes: [
      replaced<typeof queue, 'freeAndGrant'>('lock/rules/queue', 'freeAndGrant', () => (tx, row) => {
        tx.deleteHold(row)
        tx.happened('released', row)
      }),
    ],
    profile: 'waiters',
    seeds: 100,
  },
  {
    name: 'the cluster executes a repeated release again',
    ids: ['C2', 'K5'],
    changes: [
      edit(
        'kv/rules/apply-entry',
        'if (kept !== undefined) {',
        'if (kept !== undefined && this.#decoded()?.[0] !== OP.release) {',
      ),
    ],
    profile: 'renewing',
    seeds: 300,
    options: { faults: 2 },
  },
  {
    name: 'a guarded write succeeds after the end of the lease',
    ids: ['K6'],
    changes: [
      replaced<typeof lockReads, 'isHeldWith'>(
        'lock/rules/lock-reads',
        'isHeldWith',
        (real) => (view, key, token, shared) =>
          view.hold(key)?.token === token || real(view, key, token, shared),
      ),
    ],
    profile: 'deadline',
    seeds: 100,
  },
  {
    name: 'a change of leader reverses the order of a queue',
    ids: ['K15'],
    changes: [
      edit(
        'kv/rules/tables-for-lock-rules',
        'return this.state.waiters.first(key);',
        'return this.state.meta.position.term % 2 === 1 ? this.state.waiters.first(key) : this.state.waiters.lastOf(key);',
      ),
      edit(
        'kv/state/waiters',
        'get(key, id) {',
        'lastOf(key) { return this.#queues.get(binary(key))?.last?.row; } get(key, id) {',
      ),
    ],
    profile: 'waiters',
    seeds: 200,
    options: { clients: 5, faults: 2 },
  },
  {
    name: 'a release ignores the id and the token of its caller',
    ids: ['K9', 'K10'],
    changes: [
      replaced<typeof release, 'release'>(
        'lock/rules/release',
        'release',
        (real) => (tx, key, id, token, all) => {
          const row = holdOf(tx, key, id) ?? tx.hold(key) ?? tx.shared(key)?.first
          return row === undefined ? real(tx, key, id, token, all) : real(tx, key, row.id, row.token, all)
        },
      ),
    ],
    profile: 'renewing',
    seeds: 200,
    options: { faults: 2 },
  },
  {
    name: 'a renewal succeeds after the end of the lease',
    ids: ['K20'],
    changes: [
      edit(
        'lock/rules/acquire',
        'const row = inForce(exclusive, tx.now) ? exclusive : tx.sharedHold(key, id); if (!inForce(row, tx.now)) return',
        'const row = exclusive ?? tx.sharedHold(key, id); if (row === undefined) return',
      ),
    ],
    profile: 'renewing',
    seeds: 200,
    options: { faults: 2 },
  },
  {
    name: 'the token is counted in the row of the hold',
    ids: ['K17', 'K15'],
    changes: [
      edit(
        'lock/rules/queue',
        'const token = tx.nextToken(ask.fencingKey);',
        'const token = (tx.hold(ask.key)?.token ?? 0) + 1;',
      ),
    ],
    profile: 'renewing',
    seeds: 50,
  },
  {
    name: 'the snapshot lacks the stored answers of the sessions',
    ids: ['S7'],
    changes: [
      edit(
        'kv/snapshot/reader',
        'const rows = page.filter(({ key }) => !META.equals(key));',
        'const rows = page.filter(({ key }) => !META.equals(key) && key[0] !== 0x72);',
      ),
    ],
    profile: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
  {
    name: 'the snapshot lacks the fencing counters',
    ids: ['S6', 'K15'],
    changes: [
      edit(
        'kv/snapshot/reader',
        'const rows = page.filter(({ key }) => !META.equals(key));',
        'const rows = page.filter(({ key }) => !META.equals(key) && key[0] !== 0x63);',
      ),
    ],
    profile: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
]
