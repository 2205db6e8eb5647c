// Rule: known bugs of configurations and snapshots.

import type * as quorum from '../../../../packages/raft/dist/core/quorum.js'
import { replaced } from '../run/changed-packages.js'
import { type Bug, patch } from './bug.js'

export const memberBugs: readonly Bug[] = [
  {
    name: 'a configuration counts from its commit, not from its append',
    ids: ['M2'],
    changes: [
      patch(
        'replication',
        'state.configs.append(index, membership); trackMembers(state); leading.dirty = true;',
        '',
      ),
      patch(
        'replication',
        'leading.uncommittedBytes -= state.log.entry(i).data.length; state.commit = index;',
        `leading.uncommittedBytes -= state.log.entry(i).data.length;
         for (let i = state.commit + 1; i <= index; i++) {
           const entry = state.log.entry(i)
           if (entry.kind !== 'members') continue
           const [, voters, outgoing, learners, learnersNext, peers] = JSON.parse(Buffer.from(entry.data).toString())
           state.configs.append(i, { voters, outgoing, learners, learnersNext, peers: Object.fromEntries(peers.map(([id, url, incarnation]) => [id, { url, incarnation }])) })
           trackMembers(state)
           leading.dirty = true
         }
         state.commit = index;`,
      ),
    ],
    profile: 'membership',
    seeds: 300,
  },
  {
    name: 'a second change while one is pending',
    ids: ['M3'],
    changes: [
      patch('membership-change', 'isJoint(now) || state.configs.index > state.commit', 'isJoint(now)'),
    ],
    profile: 'membership',
    seeds: 300,
    scenario: 'M3',
  },
  {
    name: 'a change before an entry of the own term is committed',
    ids: ['M1'],
    changes: [
      patch('membership-change', 'if (state.commit < leading.firstIndex) {', 'if (false) {'),
      patch('membership-change', 'isJoint(now) || state.configs.index > state.commit', 'isJoint(now)'),
    ],
    profile: 'membership',
    seeds: 300,
    scenario: 'M1',
  },
  {
    name: 'a learner is counted',
    ids: ['M9'],
    changes: [
      patch(
        'replication',
        'quorumValue(state.membership, leading.matchOf)',
        'quorumValue({ voters: [...state.membership.voters, ...state.membership.learners], outgoing: state.membership.outgoing }, leading.matchOf)',
      ),
    ],
    profile: 'membership',
    seeds: 300,
    scenario: 'M9',
  },
  {
    name: 'joint: a majority of the union is enough',
    ids: ['M4'],
    changes: [
      replaced<typeof quorum, 'quorumValue'>(
        'raft/core/quorum',
        'quorumValue',
        (real) =>
          ({ voters, outgoing }, valueOf) =>
            real({ voters: [...new Set([...voters, ...outgoing])], outgoing: [] }, valueOf),
      ),
    ],
    profile: 'membership',
    seeds: 500,
    scenario: 'M4',
  },
  {
    name: 'joint: never left',
    breaks: 'liveness',
    ids: ['M5'],
    changes: [patch('leader', 'if (!isJoint(state.membership)) return;', 'return;')],
    profile: 'membership',
    seeds: 200,
    scenario: 'M5',
  },
  {
    name: 'a removed leader counts itself',
    ids: ['M11'],
    changes: [
      patch(
        'replication',
        'quorumValue(state.membership, leading.matchOf)',
        'quorumValue({ voters: [...new Set([...state.membership.voters, state.id])], outgoing: state.membership.outgoing }, leading.matchOf)',
      ),
    ],
    profile: 'membership',
    seeds: 1_000,
  },
  {
    name: 'many voters change at once without a joint configuration',
    ids: ['M4'],
    changes: [patch('membership-change', 'if (come.length + gone.length <= 1)', 'if (true)')],
    profile: 'membership',
    seeds: 200,
  },
  {
    name: 'a truncation does not bring the configuration before back',
    ids: ['M2'],
    changes: [patch('follower', 'state.configs.truncate(from);', '')],
    profile: 'membership',
    seeds: 1_000,
  },
  {
    name: 'a stale snapshot is taken',
    ids: ['S1'],
    changes: [patch('snapshot-in', '!state.rebuilding && isHere(state, position)', 'false')],
    profile: 'snapshots',
    seeds: 300,
  },
  {
    name: 'the configuration of a snapshot is lost',
    ids: ['M14'],
    changes: [
      patch(
        'snapshot-in',
        'state.configs.restart(position.index, membership);',
        'state.configs.restart(position.index, state.configs.current);',
      ),
    ],
    profile: 'membership',
    seeds: 1_000,
  },
  {
    name: 'pieces of a snapshot are taken in any order',
    ids: ['S4'],
    changes: [
      patch('snapshot-in', 'staging.installing || m.offset !== staging.offset', 'staging.installing'),
    ],
    profile: 'snapshots',
    seeds: 500,
  },
  {
    name: 'entries are handed out while a snapshot is being installed',
    ids: ['S3'],
    changes: [patch('end-of-call', 'state.rebuilding || state.staging?.installing', 'state.rebuilding')],
    profile: 'snapshots',
    seeds: 500,
  },
]
