// Rule: known bugs of elections.

import { becomeFollower } from '../../../../packages/raft/dist/core/role-changes.js'
import { during } from '../run/changed-packages.js'
import type { RaftBug } from './bug.js'
import { inElection, inLeader, inLog, inMessageDispatch, inQuorum, inRoleChanges } from './core-exports.js'

export const electionBugs: readonly RaftBug[] = [
  {
    name: 'a member sends a vote before its log is synced',
    ids: ['E1'],
    changes: [
      inElection(
        'onVote',
        (real) => (state, m) =>
          during(state.disk, { promiseHardState: (reply) => state.send(reply) }, () => real(state, m)),
      ),
    ],
    seeds: 20,
    scenario: 'E1',
  },
  {
    name: 'a candidate asks for votes before its own vote is synced',
    ids: ['E4'],
    changes: [
      inElection(
        'onPreVoteReply',
        (real) => (state, m) =>
          during(state.disk, { promiseHardState: (request) => state.send(request) }, () => real(state, m)),
      ),
    ],
    seeds: 20,
  },
  {
    name: 'a member votes twice in a term',
    ids: ['E3'],
    changes: [
      inElection('onVote', (real) => (state, m) => {
        state.vote = undefined
        during(state, { leader: undefined, role: 'follower' }, () => real(state, m))
      }),
    ],
    seeds: 200,
  },
  {
    name: 'a new term is not made durable',
    breaks: 'liveness',
    ids: ['E1'],
    changes: [
      inRoleChanges(
        'becomeFollower',
        (real) => (state, term, leader) =>
          during(state.disk, { noteHardState: () => {} }, () => real(state, term, leader)),
      ),
    ],
    seeds: 100,
  },
  {
    name: 'a voter ignores the length of the log',
    ids: ['E5'],
    changes: [
      inLog(
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
    name: 'a voter compares the lengths of two logs before their terms',
    ids: ['E5'],
    changes: [
      inLog(
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
    name: 'half of an even number of voters elects a leader',
    ids: ['E6'],
    changes: [
      inQuorum('tally', () => ({ voters, outgoing }, votes) => {
        const half = (ids: readonly string[], vote: (id: string) => boolean) =>
          ids.filter(vote).length >= (ids.length + 1) >>> 1
        const both = (vote: (id: string) => boolean) =>
          half(voters, vote) && (outgoing.length === 0 || half(outgoing, vote))
        if (both((id) => votes.get(id) === true)) return 'won'
        return both((id) => votes.get(id) !== false) ? 'open' : 'lost'
      }),
    ],
    seeds: 200,
  },
  {
    name: 'a pre-vote increases the term',
    ids: ['E12'],
    changes: [
      inElection('onPreVote', (real) => (state, m) => {
        if (m.term > state.term) becomeFollower(state, m.term, undefined)
        real(state, m)
      }),
    ],
    seeds: 0,
    scenario: 'E12',
  },
  {
    name: 'a member votes although it hears from its leader',
    ids: ['E10', 'E13'],
    changes: [
      inElection('isSticky', () => () => false),
      inElection(
        'onPreVote',
        (real) => (state, m) => during(state, { role: 'follower', leader: undefined }, () => real(state, m)),
      ),
    ],
    seeds: 0,
    scenario: 'E10',
  },
  {
    name: 'a leader without a quorum does not step down',
    ids: ['E11'],
    changes: [
      inLeader(
        'leaderTick',
        (real) => (state, leading) =>
          during(state.timers, { calmAt: Number.POSITIVE_INFINITY }, () => real(state, leading)),
      ),
    ],
    seeds: 0,
    scenario: 'E11',
  },
  {
    name: 'all members have the same election timeout',
    ids: ['E20'],
    changes: [
      inRoleChanges(
        'resetElectionTimer',
        (real) => (state) => during(state.random, { between: () => 0 }, () => real(state)),
      ),
    ],
    seeds: 0,
    scenario: 'E20',
  },
  {
    name: 'a member follows the leader of a higher term in its own term',
    ids: ['E22'],
    changes: [
      inMessageDispatch('receive', (real) => (state, m) => {
        const isOfLeader = m.type === 'append' || m.type === 'heartbeat' || m.type === 'snapshot'
        real(state, isOfLeader && m.term > state.term ? { ...m, term: state.term } : m)
      }),
    ],
    seeds: 200,
  },
]
