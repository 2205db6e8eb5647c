// Test: each law reports a history that breaks it, and accepts a history that does not.
// long: a good history and several bad ones for each law

import { describe, expect, test } from 'vitest'
import { acknowledgedWrites } from './acknowledged-writes.js'
import { clusterTime } from './cluster-time.js'
import { committedConfiguration } from './committed-configuration.js'
import { diskBeforeWord } from './disk-before-word.js'
import { durableQuorum } from './durable-quorum.js'
import { durableVotes } from './durable-votes.js'
import { electionSafety } from './election-safety.js'
import { equalAnswers } from './equal-answers.js'
import { freshReads } from './fresh-reads.js'
import { hardState } from './hard-state.js'
import type { MakeLaw } from './law.js'
import { leaderAppendOnly } from './leader-append-only.js'
import { leaderCompleteness } from './leader-completeness.js'
import { logMatching } from './log-matching.js'
import { orderlyIndexes } from './orderly-indexes.js'
import { snapshotPieces } from './snapshot-pieces.js'
import { stateMachineSafety } from './state-machine-safety.js'
import { storedByAll } from './stored-by-all.js'
import { configuration, decode, entry, members, ScriptedCluster } from './scripted-cluster.js'

interface Case {
  readonly law: MakeLaw
  readonly good: (cluster: ScriptedCluster) => unknown
  readonly bad: Readonly<Record<string, (cluster: ScriptedCluster) => unknown>>
}

const time = clusterTime({ fastest: 1.005, clamp: 100, steps: () => 0 })

/** Member b has one entry on its disk and installs a snapshot of the second entry, before its log records this. */
function snapshotOver(cluster: ScriptedCluster): ScriptedCluster {
  cluster.write('a', { entries: [entry(1, 1), entry(2, 1)] }).write('b', { entries: [entry(1, 1)] })
  cluster.commits('a', 2)
  cluster.laws.installed('b', { index: 2, term: 1, time: 0 }, members('a', 'b', 'c'), { hash: 7 })
  return cluster
}

/** Entry 1 is on the disks of these members only. All members have it in memory, and it is committed. */
function storedBy(cluster: ScriptedCluster, ...ids: string[]): ScriptedCluster {
  for (const id of ['a', 'b', 'c'])
    cluster.write(id, { entries: [entry(1, 1)] }, { durable: ids.includes(id) })
  return cluster.leads('a', 1).commits('a', 1)
}

const cases: Readonly<Record<string, Case>> = {
  'election-safety': {
    law: electionSafety,
    good: (cluster) => cluster.leads('a', 1).leads('b', 2).leads('a', 1),
    bad: {
      'E3: two leaders of a term': (cluster) => cluster.leads('a', 1).leads('b', 1),
      'E4: one leader of a term, again after a start': (cluster) =>
        cluster
          .leads('a', 1)
          .boot('a', members('a', 'b', 'c'))
          .leads('a', 1),
    },
  },
  'durable-votes': {
    law: durableVotes,
    good: (cluster) => cluster.vote('a', 1, 'a').vote('b', 1, 'a').leads('a', 1),
    bad: {
      'its own vote alone': (cluster) => cluster.vote('a', 1, 'a').leads('a', 1),
      'a vote not on disk': (cluster) => cluster.vote('a', 1, 'a').vote('b', 1, 'a', false).leads('a', 1),
      'the vote of a stranger': (cluster) =>
        cluster.boot('z', members('z')).vote('a', 1, 'a').vote('z', 1, 'a').leads('a', 1),
    },
  },
  'leader-append-only': {
    law: leaderAppendOnly,
    good: (cluster) =>
      cluster
        .write('a', { entries: [entry(1, 1)] })
        .write('a', { truncateFrom: 1 })
        .leads('a', 1),
    bad: {
      'a leader that cuts': (cluster) =>
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .write('a', { truncateFrom: 1 }),
    },
  },
  'log-matching': {
    law: logMatching,
    good: (cluster) =>
      cluster
        .write('a', { entries: [entry(1, 1, 'x'), entry(2, 2)] })
        .write('b', { entries: [entry(1, 1, 'x')] }),
    bad: {
      'other contents': (cluster) =>
        cluster.write('a', { entries: [entry(1, 1, 'x')] }).write('b', { entries: [entry(1, 1, 'y')] }),
      'another predecessor': (cluster) =>
        cluster
          .write('a', { entries: [entry(1, 1), entry(2, 3)] })
          .write('b', { entries: [entry(1, 2)] })
          .write('b', { entries: [entry(2, 3)] }),
      'a hole': (cluster) => cluster.write('a', { entries: [entry(2, 1)] }),
      'found otherwise at a start': (cluster) =>
        cluster
          .write('a', { entries: [entry(1, 1, 'x')] })
          .boot('b', members('a', 'b', 'c'), 1, undefined, [entry(1, 1, 'y')]),
    },
  },
  'leader-completeness': {
    law: leaderCompleteness,
    good: (cluster) =>
      cluster
        .leads('a', 2)
        .write('a', { entries: [entry(1, 2)] })
        .commits('a', 1)
        .leads('b', 1),
    bad: {
      'a later leader without a committed entry': (cluster) =>
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .commits('a', 1)
          .leads('b', 2),
    },
  },
  'state-machine-safety': {
    law: stateMachineSafety,
    good: (cluster) => {
      cluster.write('a', { entries: [entry(1, 1)] }).commits('a', 1)
      cluster.laws.committed('a', 1, 1)
      cluster.applies('a', entry(1, 1), 7)
    },
    bad: {
      'two entries at one place': (cluster) =>
        cluster
          .write('a', { entries: [entry(1, 1)] })
          .write('b', { entries: [entry(1, 2)] })
          .commits('a', 1)
          .commits('b', 1),
      'two states after one entry': (cluster) => {
        for (const [id, hash] of [
          ['a', 7],
          ['b', 8],
        ] as const) {
          cluster.write(id, { entries: [entry(1, 1)] }).commits(id, 1)
          cluster.laws.committed(id, 1, 1)
          cluster.applies(id, entry(1, 1), hash)
        }
      },
      'an entry twice': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1)] }).commits('a', 1)
        cluster.laws.committed('a', 1, 1)
        cluster.applies('a', entry(1, 1), 7)
        cluster.applies('a', entry(1, 1), 7)
      },
      'not committed': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1)] })
        cluster.applies('a', entry(1, 1), 7)
      },
      'handed out before it is on disk': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1)] }, { durable: false }).commits('a', 1)
        cluster.laws.committed('a', 1, 1)
      },
      'S3: handed out while a snapshot is installed': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1)] }).commits('a', 1)
        cluster.stages('a', 0, true)
        cluster.laws.committed('a', 1, 1)
      },
      'back to an older snapshot': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1), entry(2, 1)] }).commits('a', 2)
        cluster.laws.committed('a', 1, 2)
        cluster.applies('a', entry(1, 1), 7)
        cluster.applies('a', entry(2, 1), 8)
        cluster.laws.installed('a', { index: 1, term: 1, time: 0 }, members('a'), { hash: 7 })
      },
      'another entry than the committed one': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1, 'x')] }).commits('a', 1)
        cluster.laws.committed('a', 1, 1)
        cluster.applies('a', entry(1, 1, 'y'), 7)
      },
    },
  },
  'equal-answers': {
    law: equalAnswers,
    good: (cluster) => cluster.applies('a', entry(1, 1), 7, 'x').applies('b', entry(1, 1), 7, 'x'),
    bad: {
      'A1: two members answer differently': (cluster) =>
        cluster.applies('a', entry(1, 1), 7, 'x').applies('b', entry(1, 1), 7, 'y'),
      'A2: another answer after a restart': (cluster) =>
        cluster
          .applies('a', entry(1, 1), 7, 'x')
          .boot('a', members('a', 'b', 'c'))
          .applies('a', entry(1, 1), 7, 'x', 'x'),
    },
  },
  'durable-quorum': {
    law: durableQuorum,
    good: (cluster) =>
      cluster
        .leads('a', 1)
        .write('a', { entries: [entry(1, 1)] })
        .write('b', { entries: [entry(1, 1)] })
        .commits('a', 1),
    bad: {
      'one disk of three': (cluster) =>
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .commits('a', 1),
      'a write without its sync': (cluster) =>
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .write('b', { entries: [entry(1, 1)] }, { durable: false })
          .commits('a', 1),
      'L1: an entry of an old term': (cluster) =>
        cluster
          .write('a', { entries: [entry(1, 1)] })
          .write('b', { entries: [entry(1, 1)] })
          .leads('a', 2)
          .commits('a', 1),
    },
  },
  'disk-before-word': {
    law: diskBeforeWord,
    good: (cluster) =>
      cluster.vote('b', 1, 'a').sends({ type: 'voteReply', from: 'b', to: 'a', granted: true }),
    bad: {
      'E1: a vote': (cluster) =>
        cluster.vote('b', 1, 'a', false).sends({ type: 'voteReply', from: 'b', to: 'a', granted: true }),
      'a vote for another': (cluster) =>
        cluster.vote('b', 1, 'c').sends({ type: 'voteReply', from: 'b', to: 'a', granted: true }),
      'E4: a request': (cluster) =>
        cluster.sends({ type: 'vote', from: 'a', to: 'b', lastIndex: 0, lastTerm: 0, transfer: false }),
      'an acknowledgement': (cluster) =>
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .write('b', { hardState: { term: 1, vote: undefined } })
          .write('b', { entries: [entry(1, 1)] }, { durable: false })
          .sends({ type: 'appendReply', from: 'b', to: 'a', ok: true, match: 1 }),
    },
  },
  'stored-by-all': {
    law: storedByAll,
    good: (cluster) =>
      storedBy(cluster, 'a', 'b', 'c').sends({ type: 'storedByAll', from: 'a', to: 'b', index: 1 }),
    bad: {
      'L23: a member without the entry': (cluster) =>
        storedBy(cluster, 'a', 'b').sends({ type: 'storedByAll', from: 'a', to: 'b', index: 1 }),
      'the leader itself': (cluster) =>
        storedBy(cluster, 'b', 'c').sends({ type: 'storedByAll', from: 'a', to: 'b', index: 1 }),
      'an entry that does not exist': (cluster) =>
        storedBy(cluster, 'a', 'b', 'c').sends({ type: 'storedByAll', from: 'a', to: 'b', index: 2 }),
    },
  },
  'hard-state': {
    law: hardState,
    good: (cluster) => {
      cluster.vote('a', 1, 'b').vote('a', 2, 'c')
      snapshotOver(cluster)
      cluster.laws.discarded('b')
      cluster.boot('b', members('a', 'b', 'c'), 1, undefined, [entry(1, 1)])
    },
    bad: {
      'a snapshot is gone after a start': (cluster) =>
        snapshotOver(cluster).boot('b', members('a', 'b', 'c'), 1, undefined, [entry(1, 1)]),
      'the log under a discarded snapshot is gone': (cluster) => {
        snapshotOver(cluster)
        cluster.laws.discarded('b')
        cluster.boot('b', members('a', 'b', 'c'), 1)
      },
      'a term goes back': (cluster) => cluster.vote('a', 2, 'b').vote('a', 1, 'b'),
      'E3: another vote in the term': (cluster) => cluster.vote('a', 1, 'b').vote('a', 1, 'c'),
      'a vote forgotten at a start': (cluster) =>
        cluster.vote('a', 1, 'b').boot('a', members('a', 'b', 'c'), 1),
      'a log shorter than what was durable': (cluster) =>
        cluster
          .write('a', { entries: [entry(1, 1), entry(2, 1)] })
          .boot('a', members('a', 'b', 'c'), 1, undefined, [entry(1, 1)]),
    },
  },
  'orderly-indexes': {
    law: orderlyIndexes,
    good: (cluster) =>
      cluster
        .leads('a', 1)
        .write('a', { entries: [entry(1, 1)] })
        .commits('a', 1),
    bad: {
      'a term goes back': (cluster) => cluster.leads('a', 2).leads('a', 1),
      'leads one term twice': (cluster) => cluster.leads('a', 2).leads('a', 2),
      'a commit goes back': (cluster) =>
        cluster
          .write('a', { entries: [entry(1, 1), entry(2, 1)] })
          .commits('a', 2)
          .commits('a', 1),
      'L4: cuts what is committed': (cluster) =>
        cluster
          .write('a', { entries: [entry(1, 1)] })
          .commits('a', 1)
          .write('a', { truncateFrom: 1 }),
      'a hole in what is handed out': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1), entry(2, 1)] }).commits('a', 2)
        cluster.laws.committed('a', 2, 2)
      },
    },
  },
  'acknowledged-writes': {
    law: acknowledgedWrites,
    good: (cluster) => {
      cluster
        .leads('a', 1)
        .write('a', { entries: [entry(1, 1)] })
        .commits('a', 1)
      cluster.laws.acknowledged({ index: 1, term: 1, key: 0 })
      cluster.laws.finish()
    },
    bad: {
      'not committed': (cluster) => cluster.laws.acknowledged({ index: 1, term: 1, key: 0 }),
      'a leader without it': (cluster) => {
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .commits('a', 1)
        cluster.laws.acknowledged({ index: 1, term: 1, key: 0 })
        cluster.leads('b', 2)
      },
    },
  },
  'committed-configuration': {
    law: committedConfiguration(decode),
    good: (cluster) => {
      cluster
        .leads('a', 1)
        .write('a', { entries: [entry(1, 1)] })
        .commits('a', 1)
      cluster.write('a', { entries: [configuration(2, 1, members('a', 'b'))] })
      cluster.laws.membership('a', members('a', 'b'))
    },
    bad: {
      'M1: before an entry of the own term': (cluster) =>
        cluster.leads('a', 1).write('a', { entries: [configuration(1, 1, members('a', 'b'))] }),
      'M3: two at once': (cluster) => {
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .commits('a', 1)
        cluster.write('a', { entries: [configuration(2, 1, members('a', 'b'))] })
        cluster.write('a', { entries: [configuration(3, 1, members('a'))] })
      },
      'M4: two voters at once': (cluster) => {
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1)] })
          .commits('a', 1)
        cluster.write('a', { entries: [configuration(2, 1, members('a'))] })
      },
      'M2: acts on another one than its log says': (cluster) =>
        cluster.laws.membership('a', members('a', 'b')),
    },
  },
  'cluster-time': {
    law: time,
    good: (cluster) =>
      cluster
        .leads('a', 1)
        .write('a', { entries: [entry(1, 1, '', 10)] }, { at: 0 })
        .write('a', { entries: [entry(2, 1, '', 1010)] }, { at: 1_000_000 })
        .commits('a', 2),
    bad: {
      'CT1: goes back': (cluster) =>
        cluster.leads('a', 1).write('a', { entries: [entry(1, 1, '', 10), entry(2, 1, '', 9)] }),
      'runs ahead of real time': (cluster) =>
        cluster
          .leads('a', 1)
          .write('a', { entries: [entry(1, 1, '', 10)] }, { at: 0 })
          .write('a', { entries: [entry(2, 1, '', 1020)] }, { at: 1_000_000 })
          .commits('a', 2),
      'CT5: beyond what an answer had promised': (cluster) => {
        cluster.leads('a', 1)
        cluster.laws.served({ member: 'a', index: 0, time: 10, sentAt: 0, floor: 0 })
        cluster.write('a', { entries: [entry(1, 1, '', 1020)] }, { at: 1_000_000 }).commits('a', 1)
      },
      'no whole milliseconds': (cluster) =>
        cluster.leads('a', 1).write('a', { entries: [entry(1, 1, '', 1.5)] }),
    },
  },
  'snapshot-pieces': {
    law: snapshotPieces,
    good: (cluster) =>
      cluster.stages('a', 0).stages('a', 8).stages('a', 0).stages('b', 0).stages('a', 8, true),
    bad: {
      'S4: a piece is left out': (cluster) => cluster.stages('a', 0).stages('a', 16),
      'S4: a piece comes twice': (cluster) => cluster.stages('a', 0).stages('a', 8).stages('a', 8),
      'S4: the first piece is missing': (cluster) => cluster.stages('a', 8),
    },
  },
  'fresh-reads': {
    law: freshReads,
    good: (cluster) => {
      cluster.write('a', { entries: [entry(1, 1)] }).commits('a', 1)
      cluster.laws.served({ member: 'a', index: 1, time: 0, sentAt: 0, floor: 1 })
    },
    bad: {
      'R2: older than an acknowledged write': (cluster) => {
        cluster.write('a', { entries: [entry(1, 1)] }).commits('a', 1)
        cluster.laws.served({ member: 'a', index: 0, time: 0, sentAt: 0, floor: 1 })
      },
      'of what is not committed': (cluster) =>
        cluster.laws.served({ member: 'a', index: 1, time: 0, sentAt: 0, floor: 0 }),
    },
  },
}

describe.each(Object.entries(cases))('%s', (name, { law, good, bad }) => {
  test('holds', () => {
    expect(() => good(new ScriptedCluster(law))).not.toThrow()
  })
  test.each(Object.entries(bad))('broken by: %s', (_, run) => {
    let caught: unknown
    try {
      run(new ScriptedCluster(law))
    } catch (error) {
      caught = error
    }
    expect(caught).toMatchObject({ name: 'LawBroken', law: name })
  })
})

test('no member is accused of a lost disk', () => {
  expect(() => new ScriptedCluster(electionSafety).laws.accused('a', 2, 1)).toThrow('no disk was rolled back')
})
