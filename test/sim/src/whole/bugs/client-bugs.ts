// Rule: known bugs of the client: of its attempts, answers, clocks, holds and mirrors.

import { binary } from '@latchkey/base'
import type { HoldValidity } from '../../../../../packages/lock/dist/holding/hold-validity.js'
import type { Done, Outcome } from '../../../../../packages/raft/dist/node/callers-waiting-for-entries.js'
import type { Row } from '../../../../../packages/client/dist/store/range-iterator.js'
import { during, like } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import {
  inActiveLink,
  inClock,
  inHoldValidity,
  inKeepAlive,
  inLeaderReach,
  inProposals,
  inRangeFollower,
  inRenewalTimes,
  inSilenceDetector,
} from './product-exports.js'

/** One client after the other is suspended. During the suspension its wall clock is set back by 0.8 s. */
const SUSPENDED_AND_SET_BACK = Array.from({ length: 40 }, (_, i) => ({
  at: 1_000_000 + Math.floor(i / 2) * 250_000 + (i % 2) * 10_000,
  kind: i % 2 === 0 ? ('clientSuspend' as const) : ('wall' as const),
  who: 0,
  other: Math.floor(i / 2),
  millis: i % 2 === 0 ? 150 : 40,
}))

/** The client with mirrors is cut off for so long that the members may remove events that it needs. */
const CUT_OFF_THREE_TIMES = [1_000_000, 3_000_000, 5_000_000].map((at) => ({
  at,
  kind: 'clientCut' as const,
  who: 0,
  other: 0,
  millis: 1_500,
}))

const NOT_LEADER: Outcome = { type: 'refused', reason: 'not-leader' }

export const clientBugs: readonly WholeBug[] = [
  {
    name: 'the elapsed time uses only the monotonic clock',
    ids: ['T8'],
    changes: [inClock('elapsed', () => (from, to) => Math.max(0, to.hr - from.hr))],
    workload: 'deadline',
    seeds: 300,
    options: { faults: 2, locks: 1 },
  },
  {
    name: 'the elapsed time ignores the rounding error of uptime',
    ids: ['CT7'],
    changes: [
      inClock(
        'elapsed',
        () => (from, to) => Math.max(0, to.hr - from.hr, to.up - from.up - 10, to.wall - from.wall),
      ),
    ],
    workload: 'deadline',
    seeds: 50,
    options: { clocks: 'extreme', locks: 1, lease: [400, 400] },
    faults: SUSPENDED_AND_SET_BACK,
  },
  {
    name: 'a lost hold is in force again',
    ids: ['K30'],
    changes: [
      inHoldValidity(
        'HoldValidity',
        (Real) =>
          class extends Real {
            override remaining() {
              return during(this as HoldValidity, { lose: () => {} }, () => super.remaining())
            }
            override prolong(deadline: number) {
              during(this as HoldValidity, { held: true }, () => super.prolong(deadline))
            }
          },
      ),
    ],
    workload: 'renewing',
    seeds: 300,
    options: { faults: 2 },
  },
  {
    name: 'the store gives up a renewal after a twelfth of the lease',
    ids: ['K42'],
    changes: [inRenewalTimes('patienceOf', (real) => (lease) => Math.min(lease / 12, real(lease)))],
    workload: 'renewing',
    seeds: 300,
    options: { faults: 0.6 },
  },
  {
    name: 'a client waits for a silent leader',
    breaks: 'liveness',
    ids: ['C13'],
    changes: [
      inSilenceDetector(
        'SilenceDetector',
        (Real) =>
          class extends Real {
            constructor(...[ports]: ConstructorParameters<typeof Real>) {
              super({ ...ports, suspected: () => {} })
            }
          },
      ),
    ],
    workload: 'kv',
    seeds: 20,
    options: { members: 3, embedded: 0, electionTimeout: 300, heartbeat: 75 },
    faults: [{ at: 2_000_000, kind: 'pause', who: -1, other: 0, millis: 8_000 }],
  },
  {
    name: 'an embedded store waits only for its own member',
    breaks: 'liveness',
    ids: ['M28'],
    changes: [
      inLeaderReach(
        'LeaderReach',
        (Real) =>
          class extends Real {
            override look() {
              return false
            }
          },
      ),
    ],
    workload: 'kv',
    seeds: 20,
    options: { members: 3, embedded: 3, electionTimeout: 300, heartbeat: 75 },
    faults: [{ at: 2_000_000, kind: 'cut', who: -1, other: 0, millis: 8_000 }],
  },
  {
    name: 'a command that may be in the log is reported as refused',
    ids: ['C4', 'C1'],
    changes: [
      inProposals(
        'Proposals',
        (Real) =>
          class extends Real {
            override proposed(
              ...[index, term, batch, at]: Parameters<InstanceType<typeof Real>['proposed']>
            ) {
              const dones = batch.callers.dones.map((done): Done => {
                return (outcome, ticket) => done(outcome.type === 'unknown' ? NOT_LEADER : outcome, ticket)
              })
              super.proposed(index, term, { ...batch, callers: { ...batch.callers, dones } }, at)
            }
          },
      ),
    ],
    workload: 'kv',
    seeds: 300,
    options: { faults: 2, electionTimeout: 500, heartbeat: 100, members: 3 },
  },
  {
    name: 'a client uses the id of an attempt again',
    ids: ['C5'],
    changes: [
      inActiveLink(
        'ActiveLink',
        (Real) =>
          class extends Real {
            override nextId() {
              return ((super.nextId() - 1) % 4) + 1
            }
          },
      ),
    ],
    workload: 'kv',
    seeds: 50,
  },
  {
    name: 'a mirror shows the changes of a revision one by one',
    ids: ['C62'],
    changes: [
      inRangeFollower(
        'followRange',
        (real) =>
          async function* (engine, bounds, options) {
            for await (const step of real(engine, bounds, options)) {
              if (step.is !== 'events') yield step
              else for (const event of step.events) yield { is: 'events', events: [event] }
            }
            return undefined
          },
      ),
    ],
    workload: 'kv',
    seeds: 20,
  },
  {
    name: 'the changes after a list begin one revision too late',
    ids: ['C61'],
    changes: [
      inRangeFollower('followRange', (real) => (engine, bounds, options) => {
        const watch: typeof engine.watch = (start, end, from, sink) =>
          engine.watch(start, end, from && from + 1, sink)
        return real(like(engine, { watch }), bounds, options)
      }),
    ],
    workload: 'kv',
    seeds: 50,
  },
  {
    name: 'after lost history, a mirror still shows deleted keys',
    ids: ['C62'],
    changes: [
      inRangeFollower(
        'followRange',
        (real) =>
          async function* (engine, bounds, options) {
            const listed = new Map<string, Row>()
            for await (const step of real(engine, bounds, options)) {
              yield step
              if (step.is === 'reset') yield { is: 'rows', rows: [...listed.values()] }
              if (step.is === 'rows') for (const row of step.rows) listed.set(binary(row[0]), row)
            }
            return undefined
          },
      ),
    ],
    workload: 'kv',
    seeds: 100,
    options: { events: 20, members: 3, think: 20 },
    faults: CUT_OFF_THREE_TIMES,
  },
  {
    name: 'a client sends a refused keep-alive again at once',
    breaks: 'liveness',
    ids: ['C7'],
    changes: [
      inKeepAlive(
        'KeepAlive',
        (Real) =>
          class extends Real {
            override ended(kept: boolean) {
              super.ended(kept)
              if (!kept) this.check()
            }
          },
      ),
    ],
    workload: 'waiters',
    seeds: 300,
    options: { embedded: 1, sessionLife: 1_500, faults: 2 },
  },
]
