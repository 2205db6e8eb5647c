// Rule: known bugs of configurations and snapshots.

import { isJoint, type Membership } from '@latchkey/raft/core'
import { leftJoint } from '../../../../packages/raft/dist/core/membership-change.js'
import { trackMembers } from '../../../../packages/raft/dist/core/replication.js'
import type { State } from '../../../../packages/raft/dist/core/state.js'
import { type Change, during } from '../run/changed-packages.js'
import type { RaftBug } from './bug.js'
import {
  inCollectEffects,
  inMembership,
  inMembershipChange,
  inQuorum,
  inReceiveSnapshot,
  inReplication,
} from './core-exports.js'

/** Appended configurations that the wrong code does not use yet, by member. */
const uncommitted = new WeakMap<State, { readonly index: number; readonly membership: Membership }>()

/** The wrong code computes the commit index from these members, and not from the voters. */
const countedIn = (voters: (state: State) => readonly string[]): Change =>
  inReplication(
    'moveCommit',
    (real) => (state, leading) =>
      during(state.configs, { current: { ...state.membership, voters: voters(state) } }, () =>
        real(state, leading),
      ),
  )

export const memberBugs: readonly RaftBug[] = [
  {
    name: 'a configuration counts only from its commit on',
    ids: ['M2'],
    changes: [
      inReplication('appendOwn', (real) => (state, kind, data, membership) => {
        const index = real(state, kind, data)
        if (membership !== undefined) uncommitted.set(state, { index, membership })
        return index
      }),
      inReplication('moveCommit', (real) => (state, leading) => {
        const moved = real(state, leading)
        const next = uncommitted.get(state)
        if (next === undefined || next.index > state.commit) return moved
        uncommitted.delete(state)
        state.configs.append(next.index, next.membership)
        trackMembers(state)
        leading.dirty = true
        return moved
      }),
    ],
    workload: 'membership',
    seeds: 300,
  },
  {
    name: 'a second change of members begins before the first one is committed',
    ids: ['M3'],
    changes: [
      inMembershipChange('planChange', (real) => (state, leading, change) => {
        const commit = state.commit < leading.firstIndex ? state.commit : Number.MAX_SAFE_INTEGER
        return during(state, { commit }, () => real(state, leading, change))
      }),
    ],
    workload: 'membership',
    seeds: 300,
    scenario: 'M3',
  },
  {
    name: 'a leader changes members before it has committed an entry of its term',
    ids: ['M1'],
    changes: [
      inMembershipChange(
        'planChange',
        (real) => (state, leading, change) =>
          during(state, { commit: Number.MAX_SAFE_INTEGER }, () => real(state, leading, change)),
      ),
    ],
    workload: 'membership',
    seeds: 300,
    scenario: 'M1',
  },
  {
    name: 'a learner counts for a majority',
    ids: ['M9'],
    changes: [countedIn(({ membership: { voters, learners } }) => [...voters, ...learners])],
    workload: 'membership',
    seeds: 300,
    scenario: 'M9',
  },
  {
    name: 'in a joint configuration, a majority of all voters is enough',
    ids: ['M4'],
    changes: [
      inQuorum(
        'quorumValue',
        (real) =>
          ({ voters, outgoing }, valueOf) =>
            real({ voters: [...new Set([...voters, ...outgoing])], outgoing: [] }, valueOf),
      ),
    ],
    workload: 'membership',
    seeds: 500,
    scenario: 'M4',
  },
  {
    name: 'a joint configuration is never left',
    breaks: 'liveness',
    ids: ['M5'],
    changes: [
      inReplication(
        'appendOwn',
        (real) => (state, kind, data, membership) =>
          kind === 'members' && isJoint(state.membership)
            ? state.log.lastIndex
            : real(state, kind, data, membership),
      ),
    ],
    workload: 'membership',
    seeds: 200,
    scenario: 'M5',
  },
  {
    name: 'a removed leader counts itself',
    ids: ['M11'],
    changes: [countedIn(({ id, membership: { voters } }) => [...new Set([...voters, id])])],
    workload: 'membership',
    seeds: 1_000,
  },
  {
    name: 'many voters change at once without a joint configuration',
    ids: ['M4'],
    changes: [
      inMembershipChange('planChange', (real) => (state, leading, change) => {
        const plan = real(state, leading, change)
        return 'voters' in plan && isJoint(plan) ? leftJoint(plan) : plan
      }),
    ],
    workload: 'membership',
    seeds: 200,
  },
  {
    name: 'after a truncation, a member still uses the removed configuration',
    ids: ['M2'],
    changes: [
      inMembership(
        'Configurations',
        (Real) =>
          class extends Real {
            override truncate() {}
          },
      ),
    ],
    workload: 'membership',
    seeds: 1_000,
  },
  {
    name: 'a member installs an older snapshot',
    ids: ['S1'],
    changes: [
      inReceiveSnapshot(
        'onSnapshot',
        (real) => (state, m) => during(state, { rebuilding: true }, () => real(state, m)),
      ),
    ],
    workload: 'snapshots',
    seeds: 300,
  },
  {
    name: 'the configuration of a snapshot is lost',
    ids: ['M14'],
    changes: [
      inMembership(
        'Configurations',
        (Real) =>
          class extends Real {
            override restart(index: number) {
              super.restart(index, this.current)
            }
          },
      ),
    ],
    workload: 'membership',
    seeds: 1_000,
  },
  {
    name: 'a member accepts the pieces of a snapshot in any order',
    ids: ['S4'],
    changes: [
      inReceiveSnapshot('onSnapshot', (real) => (state, m) => {
        const { staging } = state
        if (staging?.installing === false && m.offset > 0) staging.offset = m.offset
        real(state, m)
      }),
    ],
    workload: 'snapshots',
    seeds: 500,
  },
  {
    name: 'entries are applied while a snapshot is being installed',
    ids: ['S3'],
    changes: [
      inCollectEffects(
        'finish',
        (real) => (state, synced) =>
          state.staging === undefined
            ? real(state, synced)
            : during(state.staging, { installing: false }, () => real(state, synced)),
      ),
    ],
    workload: 'snapshots',
    seeds: 500,
  },
]
