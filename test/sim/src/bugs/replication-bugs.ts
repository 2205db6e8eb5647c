// Rule: known bugs of the log, its commit index and its acknowledgements.

import type { State } from '../../../../packages/raft/dist/core/state.js'
import { during } from '../run/changed-packages.js'
import type { RaftBug } from './bug.js'
import {
  inCollectEffects,
  inDurableBeforeSend,
  inEntriesStoredByAll,
  inFollower,
  inProgress,
  inReplication,
  inRoleChanges,
} from './core-exports.js'

export const replicationBugs: readonly RaftBug[] = [
  {
    name: 'a follower acknowledges entries before its log is synced',
    ids: ['L5', 'L6'],
    changes: [
      inFollower(
        'acknowledge',
        (real) => (state, synced) =>
          during(state.disk, { durable: Number.MAX_SAFE_INTEGER }, () => real(state, synced)),
      ),
    ],
    seeds: 10,
  },
  {
    name: 'an entry of an old term is committed by counting (Figure 8)',
    ids: ['L1'],
    changes: [
      inReplication(
        'moveCommit',
        (real) => (state, leading) => during(leading, { firstIndex: 0 }, () => real(state, leading)),
      ),
    ],
    seeds: 500,
    scenario: 'L1',
  },
  {
    name: 'after a truncation, the removed entries still count as durable',
    ids: ['L5'],
    changes: [
      inDurableBeforeSend(
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
    name: 'a follower commits entries that may differ from the log of the leader',
    ids: ['L2'],
    changes: [
      inFollower('onHeartbeat', (real) => (state, m) => {
        real(state, m)
        commitAll(state, m.commit)
      }),
      inFollower('onAppend', (real) => (state, m) => {
        real(state, m)
        commitAll(state, m.commit)
      }),
    ],
    seeds: 200,
    scenario: 'L2',
  },
  {
    name: 'a follower truncates its log at each append',
    ids: ['L3'],
    changes: [
      inFollower('onAppend', (real) => (state, m) => {
        const from = m.entries[0]?.index ?? 0
        const fits = state.role !== 'leader' && state.log.termAt(m.prevIndex) === m.prevTerm
        if (fits && from > state.commit && from <= state.log.lastIndex) {
          state.log.truncate(from)
          state.disk.noteTruncate(from)
          state.configs.truncate(from)
        }
        real(state, m)
      }),
    ],
    seeds: 100,
    scenario: 'L3',
  },
  {
    name: 'the leader counts itself before its own sync',
    ids: ['L6'],
    changes: [
      inRoleChanges('becomeLeader', (real) => (state) => {
        real(state)
        const { leading } = state
        if (leading === undefined) return
        const { matchOf } = leading
        Object.assign(leading, {
          matchOf: (id: string) => (id === state.id ? state.log.lastIndex : matchOf(id)),
        })
      }),
    ],
    seeds: 20,
  },
  {
    name: 'an entry is applied before it is durable on this member',
    ids: ['L6', 'A5'],
    changes: [
      inCollectEffects('finish', (real) => (state, synced) => {
        const effects = real(state, synced)
        const [from, to] = [state.handedOut + 1, state.commit]
        if (to < from || state.rebuilding || state.staging?.installing === true) return effects
        state.handedOut = to
        return [...effects, { type: 'commit', from, to }]
      }),
    ],
    seeds: 50,
  },
  {
    name: 'a lost probe is never sent again',
    breaks: 'liveness',
    ids: ['L11'],
    changes: [
      inReplication('onHeartbeatReply', (real) => (state, peer, m) => {
        const { probing } = peer
        real(state, peer, m)
        if (peer.state === 'probe') peer.probing = probing
      }),
    ],
    seeds: 200,
  },
  {
    name: 'the leader never frees the window of unanswered appends',
    breaks: 'liveness',
    ids: ['L11'],
    changes: [
      inProgress(
        'Progress',
        (Real) =>
          class extends Real {
            constructor(id: string, next: number, clock: number, windowSize: number) {
              super(id, next, clock, windowSize)
              this.window.freeTo = () => {}
            }
          },
      ),
    ],
    seeds: 200,
  },
  {
    name: 'a follower appends entries although its previous entry has another term',
    ids: ['L13'],
    changes: [
      inFollower('onAppend', (real) => (state, m) => {
        const here = state.log.termAt(m.prevIndex)
        real(state, m.prevIndex > state.commit && here !== undefined ? { ...m, prevTerm: here } : m)
      }),
    ],
    seeds: 200,
  },
  {
    name: 'the leader skips a common entry again and again',
    breaks: 'liveness',
    ids: ['L8'],
    changes: [
      inReplication('onAppendReply', (real) => (state, peer, m) => {
        const { toProbe } = peer
        during(peer, { toProbe: (next) => toProbe.call(peer, next + 1) }, () => real(state, peer, m))
      }),
    ],
    seeds: 300,
  },
  {
    name: 'the leader removes entries from its memory that one member lacks',
    ids: ['L23'],
    changes: [
      inEntriesStoredByAll(
        'tellStored',
        (real) => (state, leading) =>
          during(leading, { peers: leading.peers.slice(1) }, () => real(state, leading)),
      ),
    ],
    seeds: 50,
  },
  {
    name: 'the leader removes entries from its memory before its own sync',
    ids: ['L23'],
    changes: [
      inEntriesStoredByAll(
        'tellStored',
        (real) => (state, leading) =>
          during(state.disk, { durable: Number.MAX_SAFE_INTEGER }, () => real(state, leading)),
      ),
    ],
    seeds: 200,
  },
  {
    name: 'a follower removes entries from its memory before it has applied them',
    ids: ['L23'],
    changes: [
      inEntriesStoredByAll(
        'onStoredByAll',
        (real) => (state, m) => during(state, { applied: Number.MAX_SAFE_INTEGER }, () => real(state, m)),
      ),
    ],
    seeds: 50,
  },
]

function commitAll(state: State, leaderCommit: number): void {
  state.commit = Math.max(state.commit, Math.min(leaderCommit, state.log.lastIndex))
}
