// Rule: the laws of a run.

import { acknowledgedWrites } from './acknowledged-writes.js'
import { clusterTime, type TimeBounds } from './cluster-time.js'
import { committedConfiguration } from './committed-configuration.js'
import { diskBeforeWord } from './disk-before-word.js'
import { durableQuorum } from './durable-quorum.js'
import { durableVotes } from './durable-votes.js'
import { electionSafety } from './election-safety.js'
import { freshReads } from './fresh-reads.js'
import { hardState } from './hard-state.js'
import type { MakeLaw } from './law.js'
import { leaderAppendOnly } from './leader-append-only.js'
import { leaderCompleteness } from './leader-completeness.js'
import { logMatching } from './log-matching.js'
import type { ReadMembership } from './observed-log.js'
import { orderlyIndexes } from './orderly-indexes.js'
import { snapshotPieces } from './snapshot-pieces.js'
import { stateMachineSafety } from './state-machine-safety.js'

/** What a client or a replica would notice. */
export const outerLaws = (bounds: TimeBounds): readonly MakeLaw[] => [
  electionSafety,
  leaderAppendOnly,
  logMatching,
  leaderCompleteness,
  stateMachineSafety,
  acknowledgedWrites,
  freshReads,
  clusterTime(bounds),
]

/** Laws about the way there: they notice a wrong step before it has done harm. */
export const innerLaws = (decode: ReadMembership): readonly MakeLaw[] => [
  diskBeforeWord,
  hardState,
  durableVotes,
  durableQuorum,
  orderlyIndexes,
  snapshotPieces,
  committedConfiguration(decode),
]

export const allLaws = (bounds: TimeBounds, decode: ReadMembership): readonly MakeLaw[] => [
  ...innerLaws(decode),
  ...outerLaws(bounds),
]
