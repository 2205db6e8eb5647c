// Rule: known bugs of locks: of their tokens, their queues and their retries.

import { SPACE } from '../../../../../packages/kv/dist/keyspaces.js'
import { inForce, overAt } from '../../../../../packages/lock/dist/rules/hold-checks-and-answers.js'
import { holdOf } from '../../../../../packages/lock/dist/rules/lock-reads.js'
import { freeAndGrant } from '../../../../../packages/lock/dist/rules/queue.js'
import { type Change, during } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import {
  inAcquire,
  inFencingCounters,
  inLockReads,
  inLockTables,
  inQueue,
  inRelease,
  inScanRows,
  inSessions,
} from './product-exports.js'

/** True after a release was executed, until its answer is stored. */
let isReleased = false

const NEW_HOLD = {
  acquires: 1,
  context: null,
  fencingKey: null,
  session: 0,
  touchBy: 0,
  code: 0,
  permits: 0,
  flow: null,
} as const

const snapshotWithout = (space: number): Change =>
  inScanRows(
    'pagesOf',
    (real) =>
      async function* (view, range, keysOnly) {
        for await (const page of real(view, range, keysOnly)) yield page.filter(({ key }) => key[0] !== space)
      },
  )

export const ruleBugs: readonly WholeBug[] = [
  {
    name: 'a waiter whose session has ended gets the lock',
    ids: ['K21'],
    changes: [
      inLockTables(
        'StateLockTransaction',
        (Real) =>
          class extends Real {
            override sessionLife(session: number) {
              const isWaiting = super.waitersOf(session).length > 0
              return super.sessionLife(session) ?? (isWaiting ? 60_000 : undefined)
            }
            // The lock rules remove these waiters when the session ends.
            override waitersOf() {
              return []
            }
          },
      ),
    ],
    workload: 'waiters',
    seeds: 100,
    options: { sessionLife: 1_500, clients: 5, faults: 2 },
  },
  {
    name: 'the end of a session releases its holds',
    ids: ['K32'],
    changes: [
      inLockTables(
        'StateLockTransaction',
        (Real) =>
          class extends Real {
            // The lock rules ask for the waiters of a session when the session ends.
            override waitersOf(session: number) {
              for (const row of this.state.holds.withPrefix(''))
                if (row.session === session && inForce(row, this.now)) freeAndGrant(this, row)
              return super.waitersOf(session)
            }
          },
      ),
    ],
    workload: 'deadline',
    seeds: 300,
    options: { sessionLife: 1_500, lease: [3_000, 9_000], faults: 2 },
  },
  {
    name: 'a renewal after the release creates the hold again',
    ids: ['K7'],
    changes: [
      inAcquire('renew', (real) => (tx, list) => {
        for (const [key, id, token, lease] of list) {
          if (inForce(tx.hold(key) ?? tx.sharedHold(key, id), tx.now)) continue
          const deadline = tx.now + lease
          const hold = { ...NEW_HOLD, key, id, token, firstToken: token, deadline, since: tx.now }
          tx.putHold({ ...hold, arrival: tx.nextArrival() })
        }
        return real(tx, list)
      }),
    ],
    workload: 'renewing',
    seeds: 100,
  },
  {
    name: 'after a restart, a member counts tokens from the beginning',
    ids: ['K15'],
    changes: [
      inFencingCounters(
        'Counters',
        (Real) =>
          class extends Real {
            override async load() {}
          },
      ),
    ],
    workload: 'renewing',
    seeds: 100,
  },
  {
    name: 'a release grants the lock to no waiter',
    ids: ['K62'],
    changes: [
      inQueue('freeAndGrant', () => (tx, row) => {
        tx.deleteHold(row)
        tx.happened('released', row)
      }),
    ],
    workload: 'waiters',
    seeds: 100,
  },
  {
    name: 'the cluster executes a repeated release again',
    ids: ['C2'],
    changes: [
      inRelease('release', (real) => (...args) => {
        isReleased = true
        return real(...args)
      }),
      inSessions(
        'Sessions',
        (Real) =>
          class extends Real {
            override keep(...args: Parameters<InstanceType<typeof Real>['keep']>) {
              if (!isReleased) super.keep(...args)
              isReleased = false
            }
          },
      ),
    ],
    workload: 'renewing',
    seeds: 300,
    options: { faults: 2 },
  },
  {
    name: 'a guarded write succeeds after the end of the lease',
    ids: ['K6'],
    changes: [
      inLockReads(
        'isHeldWith',
        (real) => (view, key, token, shared) =>
          view.hold(key)?.token === token || real(view, key, token, shared),
      ),
    ],
    workload: 'deadline',
    seeds: 100,
  },
  {
    name: 'a change of leader reverses the order of a queue',
    ids: ['K62'],
    changes: [
      inLockTables(
        'StateLockTransaction',
        (Real) =>
          class extends Real {
            override firstWaiter(key: Uint8Array) {
              const isReversed = this.state.meta.position.term % 2 === 0
              return isReversed ? [...this.queueOf(key)].at(-1) : super.firstWaiter(key)
            }
          },
      ),
    ],
    workload: 'waiters',
    seeds: 200,
    options: { clients: 5, faults: 2 },
  },
  {
    name: 'a release ignores the id and the token of its caller',
    ids: ['K9', 'K10'],
    changes: [
      inRelease('release', (real) => (tx, key, id, token, all) => {
        const row = holdOf(tx, key, id) ?? tx.hold(key) ?? tx.shared(key)?.first
        return row === undefined ? real(tx, key, id, token, all) : real(tx, key, row.id, row.token, all)
      }),
    ],
    workload: 'renewing',
    seeds: 200,
    options: { faults: 2 },
  },
  {
    name: 'a renewal succeeds after the end of the lease',
    ids: ['K20'],
    changes: [
      inAcquire('renew', (real) => (tx, list) => {
        for (const [key, id] of list) {
          const row = tx.hold(key)
          if (row?.id === id && overAt(row) < tx.now) tx.putHold({ ...row, deadline: tx.now, touchBy: 0 })
        }
        return real(tx, list)
      }),
    ],
    workload: 'renewing',
    seeds: 200,
    options: { faults: 2 },
  },
  {
    name: 'the token is counted in the row of the hold',
    ids: ['K15'],
    changes: [
      inQueue('heldBy', (real) => (tx, ask, session, code, touchBy) => {
        const nextToken = () => (tx.hold(ask.key)?.token ?? 0) + 1
        return during(tx, { nextToken }, () => real(tx, ask, session, code, touchBy))
      }),
    ],
    workload: 'renewing',
    seeds: 50,
  },
  {
    name: 'the snapshot lacks the stored answers of the sessions',
    ids: ['S7'],
    changes: [snapshotWithout(SPACE.replies)],
    workload: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
  {
    name: 'the snapshot lacks the fencing counters',
    ids: ['S6', 'K15'],
    changes: [snapshotWithout(SPACE.counters)],
    workload: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
]
