// Rule: known bugs of the log, its commit index and its acknowledgements.

import type * as disk from '../../../../packages/raft/dist/core/durable-before-send.js'
import { replaced } from '../run/changed-packages.js'
import { type Bug, patch } from './bug.js'

export const replicationBugs: readonly Bug[] = [
  {
    name: 'ack before sync',
    ids: ['L5', 'L6'],
    changes: [
      patch(
        'follower',
        'const match = Math.min(state.matched, state.disk.durable); if (match < state.matched && !synced)',
        'const match = state.matched; if (match < state.matched && !synced)',
      ),
    ],
    seeds: 10,
  },
  {
    name: 'Figure 8: an entry of an old term is committed by counting',
    ids: ['L1'],
    changes: [
      patch(
        'replication',
        'if (index <= state.commit || index < leading.firstIndex) return false;',
        'if (index <= state.commit) return false;',
      ),
    ],
    seeds: 500,
    scenario: 'L1',
  },
  {
    name: 'ack ABA: a truncation leaves the durable end where it was',
    ids: ['L5'],
    changes: [
      replaced<typeof disk, 'Disk'>(
        'raft/core/durable-before-send',
        'Disk',
        (Real) =>
          class extends Real {
            override noteTruncate(from: number) {
              const { durable } = this
              super.noteTruncate(from)
              this.durable = durable
            }
          },
      ),
    ],
    seeds: 1_000,
    scenario: 'L5',
  },
  {
    name: 'commit beyond what agrees',
    ids: ['L2'],
    changes: [
      patch(
        'follower',
        'Math.min(leaderCommit, state.matched)',
        'Math.min(leaderCommit, state.log.lastIndex)',
      ),
    ],
    seeds: 200,
    scenario: 'L2',
  },
  {
    name: 'truncates on every append',
    ids: ['L3'],
    changes: [
      patch(
        'follower',
        'if (here === undefined || here === entry.term) continue;',
        'if (here === undefined || entry.index <= state.commit) continue;',
      ),
    ],
    seeds: 100,
    scenario: 'L3',
  },
  {
    name: 'the leader counts itself before its own sync',
    ids: ['L6'],
    changes: [
      patch('roles', 'id === state.id ? state.disk.durable :', 'id === state.id ? state.log.lastIndex :'),
    ],
    seeds: 20,
  },
  {
    name: 'an entry is applied before the own disk has it',
    ids: ['L6', 'A5'],
    changes: [patch('end-of-call', 'Math.min(state.commit, state.disk.durable)', 'state.commit')],
    seeds: 50,
  },
  {
    name: 'a lost probe is never sent again',
    breaks: 'liveness',
    ids: ['L11'],
    changes: [
      patch(
        'replication',
        "if (peer.state === 'probe') peer.probing = false;",
        "if (peer.state === 'probe') return;",
      ),
    ],
    seeds: 200,
  },
  {
    name: 'the window of appends under way is never freed',
    breaks: 'liveness',
    ids: ['L11'],
    changes: [patch('progress', 'this.#count > 0 && this.#lasts[this.#head] <= match', 'false')],
    seeds: 200,
  },
  {
    name: 'a follower that lacks the previous entry takes the rest',
    ids: ['L13'],
    changes: [
      patch(
        'follower',
        'if (index > state.commit) return here === term;',
        'if (index > state.commit && here !== undefined) return true;',
      ),
    ],
    seeds: 200,
  },
  {
    name: 'hint skips a common entry for ever',
    breaks: 'liveness',
    ids: ['L8'],
    changes: [
      patch(
        'replication',
        'peer.toProbe(Math.min(m.rejected, common + 1));',
        'peer.toProbe(Math.min(m.rejected + 1, common + 2));',
      ),
    ],
    seeds: 300,
  },
]
