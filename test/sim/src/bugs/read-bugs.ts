// Rule: known bugs of reads and of cluster time.

import type * as clusterTime from '../../../../packages/raft/dist/core/cluster-time.js'
import { replaced } from '../run/changed-packages.js'
import { type Bug, patch } from './bug.js'

export const readBugs: readonly Bug[] = [
  {
    name: 'ReadIndex without a commit of the own term',
    ids: ['R1'],
    changes: [patch('read-index', 'if (state.commit < leading.firstIndex) return;', '')],
    profile: 'reads',
    seeds: 500,
    scenario: 'R1',
  },
  {
    name: 'the leader reads locally',
    ids: ['R2'],
    changes: [
      patch(
        'read-index',
        'if (state.leading !== undefined) return addRead(state, state.leading, state.id, context);',
        'if (state.leading !== undefined) return answerSelf(state, context, state.commit, state.leading.clock.read(state.now));',
      ),
    ],
    profile: 'reads',
    seeds: 300,
    scenario: 'E18',
  },
  {
    name: 'ReadIndex: the number of a round is used again',
    ids: ['R3'],
    changes: [patch('read-index', 'round: ++leading.round', 'round: leading.round')],
    profile: 'reads',
    seeds: 2_000,
    scenario: 'R3',
  },
  {
    name: 'ReadIndex: a read joins the round that is under way',
    ids: ['R5'],
    changes: [
      patch(
        'read-index',
        'leading.readsWaiting.length === 0 || leading.rounds.length >= MAX_ROUNDS',
        'leading.readsWaiting.length === 0',
      ),
      patch(
        'read-index',
        'if (state.commit < leading.firstIndex) return;',
        `if (state.commit < leading.firstIndex) return;
         const last = leading.rounds.at(-1)
         if (last !== undefined) {
           last.requests.push(...leading.readsWaiting)
           leading.readsWaiting = []
           return
         }`,
      ),
    ],
    profile: 'reads',
    seeds: 2_000,
  },
  {
    name: 'a read is answered with what it was asked at, not with what is applied',
    ids: ['R4'],
    changes: [
      patch('read-index', 'index: state.commit, requests', 'index: Math.max(0, state.commit - 1), requests'),
    ],
    profile: 'reads',
    seeds: 100,
  },
  {
    name: 'stamp from a clock reading of the last tick',
    ids: ['K41'],
    changes: [
      patch(
        'leader',
        'leading.clock.read(state.now);',
        'leading.cached = state.now; leading.clock.read(state.now);',
      ),
      patch(
        'replication',
        'time: leading.clock.read(state.now), kind',
        'time: leading.clock.read(leading.cached ?? state.now), kind',
      ),
    ],
    seeds: 100,
  },
  {
    name: 'cluster time starts from the own clock',
    ids: ['K1', 'K3'],
    changes: [
      replaced<typeof clusterTime, 'ClusterClock'>(
        'raft/core/cluster-time',
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
      patch(
        'roles',
        'new ClusterClock(log.last.time,',
        'new ClusterClock(log.last.time + 2 * options.electionTimeout,',
      ),
    ],
    seeds: 100,
  },
  {
    name: 'cluster time follows a clock that goes back',
    ids: ['K2'],
    changes: [patch('cluster-time', 'if (elapsed > 0) {', 'if (true) {')],
    profile: 'clocks',
    seeds: 300,
  },
  {
    name: 'cluster time without the clamp',
    ids: ['K3'],
    changes: [
      replaced<typeof clusterTime, 'ClusterClock'>(
        'raft/core/cluster-time',
        'ClusterClock',
        (Real) =>
          class extends Real {
            constructor(last: number, now: number) {
              super(last, now, Number.POSITIVE_INFINITY)
            }
          },
      ),
    ],
    profile: 'clocks',
    seeds: 300,
  },
  {
    name: 'the time of a read is that of the last entry',
    ids: ['K4'],
    changes: [
      patch('read-index', 'const time = leading.clock.read(state.now);', 'const time = state.log.last.time;'),
    ],
    profile: 'reads',
    seeds: 100,
  },
]
