// Rule: known bugs of reads and of cluster time.

import type { Leading, State } from '../../../../packages/raft/dist/core/state.js'
import { during } from '../run/changed-packages.js'
import type { RaftBug } from './bug.js'
import { inClusterTime, inLeader, inReadIndex, inReplication } from './core-exports.js'

const lastTick = new WeakMap<State, number>()

const leadingOf = ({ leading }: State): Leading => leading as Leading

/** The answer to a read has the time of the last entry. */
export const TIME_OF_LAST_ENTRY = inReadIndex('pumpReads', (real) => (state) => {
  const leading = leadingOf(state)
  const { time } = state.log.last
  leading.readsWaiting = leading.readsWaiting.map((request) => ({ ...request, time }))
  real(state)
})

/** The leader gives each entry the time of its last tick. */
export const STAMP_OF_LAST_TICK = [
  inLeader('leaderTick', (real) => (state, leading) => {
    lastTick.set(state, state.now)
    real(state, leading)
  }),
  inReplication(
    'appendOwn',
    (real) => (state, kind, data, membership) =>
      during(state, { now: lastTick.get(state) ?? state.now }, () => real(state, kind, data, membership)),
  ),
]

export const readBugs: readonly RaftBug[] = [
  {
    name: 'a leader answers a read before it has committed an entry of its term',
    ids: ['R1'],
    changes: [
      inReadIndex(
        'pumpReads',
        (real) => (state) => during(leadingOf(state), { firstIndex: 0 }, () => real(state)),
      ),
    ],
    workload: 'reads',
    seeds: 500,
    scenario: 'R1',
  },
  {
    name: 'a leader answers a read without a quorum',
    ids: ['R2'],
    changes: [
      inReadIndex('read', (real) => (state, context) => {
        const { leading, commit: index } = state
        if (leading === undefined) return real(state, context)
        state.out.push({ type: 'read', context, index, time: leading.clock.read(state.now) })
      }),
    ],
    workload: 'reads',
    seeds: 300,
    scenario: 'E18',
  },
  {
    name: 'two rounds of heartbeats for reads have the same number',
    ids: ['R3'],
    changes: [
      inReadIndex('pumpReads', (real) => (state) => {
        const leading = leadingOf(state)
        const { round } = leading
        leading.round--
        real(state)
        leading.round = round
      }),
    ],
    workload: 'reads',
    seeds: 0,
    scenario: 'R3',
  },
  {
    name: 'a read joins a round of heartbeats that is already sent',
    ids: ['R5'],
    changes: [
      inReadIndex('pumpReads', (real) => (state) => {
        const leading = leadingOf(state)
        const last = leading.rounds.at(-1)
        if (last === undefined) return real(state)
        Object.assign(last, { requests: [...last.requests, ...leading.readsWaiting] })
        leading.readsWaiting = []
      }),
    ],
    workload: 'reads',
    seeds: 2_000,
  },
  {
    name: 'a read may be answered without the last committed entry',
    ids: ['R4'],
    changes: [
      inReadIndex('pumpReads', (real) => (state) => {
        if (state.commit < leadingOf(state).firstIndex) return
        const firstIndex = leadingOf(state).firstIndex - 1
        during(leadingOf(state), { firstIndex }, () =>
          during(state, { commit: state.commit - 1 }, () => real(state)),
        )
      }),
    ],
    workload: 'reads',
    seeds: 100,
  },
  {
    name: 'a leader gives entries the time of its last tick',
    ids: ['K41'],
    changes: STAMP_OF_LAST_TICK,
    seeds: 100,
  },
  {
    name: 'a new leader starts cluster time with its own clock',
    ids: ['K1', 'K3'],
    changes: [
      inClusterTime(
        'ClusterClock',
        (Real) =>
          class extends Real {
            constructor(last: number, now: number, clamp: number) {
              super(Math.max(last, now), now, clamp)
            }
          },
      ),
    ],
    seeds: 50,
  },
  {
    name: 'a new leader adds time for the gap before it',
    ids: ['K18'],
    changes: [
      inClusterTime(
        'ClusterClock',
        (Real) =>
          class extends Real {
            constructor(last: number, now: number, clamp: number) {
              super(last + 2 * clamp, now, clamp)
            }
          },
      ),
    ],
    seeds: 100,
  },
  {
    name: 'cluster time follows a clock that goes back',
    ids: ['K2'],
    changes: [
      inClusterTime(
        'ClusterClock',
        (Real) =>
          class extends Real {
            #ahead = 0
            #last: number
            constructor(last: number, now: number, clamp: number) {
              super(last, now, clamp)
              this.#last = now
            }
            override read(now: number) {
              if (now < this.#last) this.#ahead += this.#last - now
              this.#last = now
              return super.read(now + this.#ahead) - Math.floor(this.#ahead)
            }
          },
      ),
    ],
    workload: 'clocks',
    seeds: 300,
  },
  {
    name: 'one reading of the clock may add any time to cluster time',
    ids: ['K3'],
    changes: [
      inClusterTime(
        'ClusterClock',
        (Real) =>
          class extends Real {
            constructor(last: number, now: number) {
              super(last, now, Number.POSITIVE_INFINITY)
            }
          },
      ),
    ],
    workload: 'clocks',
    seeds: 300,
  },
  {
    name: 'the answer to a read has the time of the last entry',
    ids: ['K4'],
    changes: [TIME_OF_LAST_ENTRY],
    workload: 'reads',
    seeds: 100,
  },
]
