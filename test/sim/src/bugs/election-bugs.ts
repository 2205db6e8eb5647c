// Rule: known bugs of elections.

import type * as log from '../../../../packages/raft/dist/core/log-in-memory.js'
import { replaced } from '../run/changed-packages.js'
import { type Bug, patch } from './bug.js'

export const electionBugs: readonly Bug[] = [
  {
    name: 'vote reply before sync',
    ids: ['E1'],
    changes: [
      patch(
        'election',
        'resetElectionTimer(state); state.disk.promiseHardState(reply);',
        'resetElectionTimer(state); state.send(reply);',
      ),
    ],
    seeds: 20,
    scenario: 'E1',
  },
  {
    name: 'vote request before own sync',
    ids: ['E4'],
    changes: [
      patch(
        'election',
        'for (const to of otherVoters(state)) { state.disk.promiseHardState({',
        'for (const to of otherVoters(state)) { state.send({',
      ),
    ],
    seeds: 20,
  },
  {
    name: 'votes twice in a term',
    ids: ['E3'],
    changes: [
      patch('election', 'const granted = state.mayVote && free &&', 'const granted = state.mayVote &&'),
      patch(
        'election',
        'if (state.vote === undefined) { state.vote = m.from;',
        'if (true) { state.vote = m.from;',
      ),
    ],
    seeds: 200,
  },
  {
    name: 'a new term is not made durable',
    breaks: 'liveness',
    ids: ['E1'],
    changes: [
      patch('roles', 'state.vote = undefined; state.disk.noteHardState();', 'state.vote = undefined;'),
    ],
    seeds: 100,
  },
  {
    name: 'vote ignores the length of the log',
    ids: ['E5'],
    changes: [
      replaced<typeof log, 'Log'>(
        'raft/core/log-in-memory',
        'Log',
        (Real) =>
          class extends Real {
            override isUpToDate(_: number, lastTerm: number) {
              return lastTerm >= this.last.term
            }
          },
      ),
    ],
    seeds: 100,
  },
  {
    name: 'vote compares the length before the term',
    ids: ['E5'],
    changes: [
      replaced<typeof log, 'Log'>(
        'raft/core/log-in-memory',
        'Log',
        (Real) =>
          class extends Real {
            override isUpToDate(lastIndex: number) {
              return lastIndex >= this.lastIndex
            }
          },
      ),
    ],
    seeds: 1_000,
  },
  {
    name: 'majority off by one for even sizes',
    ids: ['E6'],
    changes: [patch('quorum', '(size >>> 1) + 1', '(size + 1) >>> 1')],
    seeds: 200,
  },
  {
    name: 'a pre-vote bumps the term',
    ids: ['E12'],
    changes: [
      patch(
        'election',
        'export function onPreVote(state, m) {',
        'export function onPreVote(state, m) { if (m.term > state.term) becomeFollower(state, m.term, undefined);',
      ),
    ],
    seeds: 0,
    scenario: 'E12',
  },
  {
    name: 'no stickiness to a living leader',
    ids: ['E10', 'E13'],
    changes: [patch('election', "if (state.role === 'leader') return true;", 'return false;')],
    seeds: 0,
    scenario: 'E10',
  },
  {
    name: 'no check-quorum',
    ids: ['E11'],
    changes: [patch('leader', 'state.clock >= state.timers.calmAt && !hearsQuorum(state, leading)', 'false')],
    seeds: 0,
    scenario: 'E11',
  },
  {
    name: 'election timeouts are all the same',
    ids: ['E20'],
    changes: [patch('roles', '+ state.random.between(0, electionTimeout)', '+ 0')],
    seeds: 0,
    scenario: 'E20',
  },
  {
    name: 'the leader of a higher term is followed without taking its term',
    ids: ['E22'],
    changes: [patch('dispatch', 'if (m.term > state.term) becomeFollower(state, m.term, m.from);', '')],
    seeds: 200,
  },
]
