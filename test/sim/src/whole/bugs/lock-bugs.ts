// Rule: known bugs of locks: of their time, their tokens, their queues and their retries.

import type { Instant } from '@latchkey/base'
import type { Answer, OwnerResult } from '@latchkey/protocol'
import { SPACE } from '../../../../../packages/kv/dist/keyspaces.js'
import { inForce, overAt } from '../../../../../packages/lock/dist/rules/lock-answers.js'
import { holdOf } from '../../../../../packages/lock/dist/rules/lock-reads.js'
import { freeAndGrant } from '../../../../../packages/lock/dist/rules/queue.js'
import { inClusterTime, inReplication } from '../../bugs/core-exports.js'
import { STAMP_OF_LAST_TICK, TIME_OF_LAST_ENTRY } from '../../bugs/read-bugs.js'
import { type Change, during, like } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import {
  inAcquire,
  inActiveLink,
  inClock,
  inFencingCounters,
  inLinkReports,
  inLockReads,
  inLockTables,
  inNode,
  inQueue,
  inRelease,
  inScanRows,
  inSessions,
  inTimeBound,
} from './product-exports.js'

const LEARN = inTimeBound(
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

/** True while the cluster clock is read for an entry. */
let isForEntry = false

/** The owner in the answer to a request for a lock. */
function ownerIn([ok, result]: Answer): OwnerResult | undefined {
  const [owner] = ok === 0 && Array.isArray(result) ? (result as unknown[]) : []
  return Array.isArray(owner) && owner.length === 8 ? (owner as unknown as OwnerResult) : undefined
}

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
      inActiveLink(
        'ActiveLink',
        (Real) =>
          class extends Real {
            override received(...args: Parameters<InstanceType<typeof Real>['received']>) {
              const answer = super.received(...args)
              const owner = ownerIn(answer)
              // The member sends no time with an answer that it has stored.
              if (args[2].time === 0 && owner !== undefined)
                this.bound.learn(owner[7], this.now(), this.now())
              return answer
            }
          },
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
    ids: ['K3'],
    changes: [
      inReplication('appendOwn', (real) => (...args) => {
        isForEntry = true
        try {
          return real(...args)
        } finally {
          isForEntry = false
        }
      }),
      inClusterTime(
        'ClusterClock',
        (Real) =>
          class extends Real {
            #time: number
            #reading: number
            readonly #clamp: number
            constructor(last: number, now: number, clamp: number) {
              super(last, now, clamp)
              this.#time = last
              this.#reading = now
              this.#clamp = clamp
            }
            override read(now: number) {
              const time = this.#time + Math.min(Math.max(0, now - this.#reading), this.#clamp)
              if (isForEntry) [this.#time, this.#reading] = [time, Math.max(now, this.#reading)]
              return Math.floor(time)
            }
          },
      ),
    ],
    profile: 'deadline',
    seeds: 50,
  },
  {
    name: 'a new leader starts with a clock reading from before a stall',
    ids: ['K41'],
    changes: [
      inClusterTime(
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
    changes: STAMP_OF_LAST_TICK,
    profile: 'deadline',
    seeds: 100,
  },
  {
    name: 'the elapsed time compares the largest clocks of two moments',
    ids: ['T3'],
    changes: [
      inClock(
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
      inNode(
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
      inLinkReports(
        'LinkReports',
        (Real) =>
          class extends Real {
            constructor(...[to]: ConstructorParameters<typeof Real>) {
              const granted: typeof to.grants.granted = (key, owner) => {
                to.bound.learn(owner[7], to.activeLink.now(), to.activeLink.now())
                to.grants.granted(key, owner)
              }
              super({ ...to, grants: like(to.grants, { granted }) })
            }
          },
      ),
    ],
    profile: 'waiters',
    seeds: 500,
    options: LATE,
  },
]

/** True when a release was executed and its answer is not stored yet. */
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
    profile: 'waiters',
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
    profile: 'deadline',
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
    profile: 'renewing',
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
    profile: 'renewing',
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
    profile: 'waiters',
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
    profile: 'renewing',
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
    profile: 'deadline',
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
    profile: 'waiters',
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
    profile: 'renewing',
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
    profile: 'renewing',
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
    profile: 'renewing',
    seeds: 50,
  },
  {
    name: 'the snapshot lacks the stored answers of the sessions',
    ids: ['S7'],
    changes: [snapshotWithout(SPACE.replies)],
    profile: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
  {
    name: 'the snapshot lacks the fencing counters',
    ids: ['S6', 'K15'],
    changes: [snapshotWithout(SPACE.counters)],
    profile: 'snapshots',
    seeds: 100,
    options: { members: 3, faults: 2 },
  },
]
