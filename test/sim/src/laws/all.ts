// Rule: the list of Raft's laws. Both profiles check their members with these laws.

import { decodeMembership } from '@latchkey/raft/core'
import { acknowledgedWrites } from './acknowledged-writes.js'
import { clusterTime, type TimeBounds } from './cluster-time.js'
import { committedConfiguration } from './committed-configuration.js'
import { diskBeforeWord } from './disk-before-word.js'
import { durableQuorum } from './durable-quorum.js'
import { durableVotes } from './durable-votes.js'
import { electionSafety } from './election-safety.js'
import { equalAnswers } from './equal-answers.js'
import { freshReads } from './fresh-reads.js'
import { hardState } from './hard-state.js'
import type { MakeLaw } from './law.js'
import { LawChecker } from './law-checker.js'
import { leaderAppendOnly } from './leader-append-only.js'
import { leaderCompleteness } from './leader-completeness.js'
import { logMatching } from './log-matching.js'
import type { ReadMembership } from './observed-log.js'
import { orderlyIndexes } from './orderly-indexes.js'
import { snapshotPieces } from './snapshot-pieces.js'
import { stateMachineSafety } from './state-machine-safety.js'
import { storedByAll } from './stored-by-all.js'
import { LawBroken } from './verdict.js'

/** A client or another member can notice a violation of these laws. */
const outerLaws = (bounds: TimeBounds): readonly MakeLaw[] => [
  electionSafety,
  leaderAppendOnly,
  logMatching,
  leaderCompleteness,
  equalAnswers,
  stateMachineSafety,
  acknowledgedWrites,
  freshReads,
  clusterTime(bounds),
]

/** These laws notice a wrong step before it has done harm. */
const innerLaws = (decode: ReadMembership): readonly MakeLaw[] => [
  diskBeforeWord,
  storedByAll,
  hardState,
  durableVotes,
  durableQuorum,
  orderlyIndexes,
  snapshotPieces,
  committedConfiguration(decode),
]

const decode: ReadMembership = (data) => {
  const membership = decodeMembership(data)
  if (membership === undefined)
    throw new LawBroken('committed-configuration', 'a configuration cannot be read')
  return membership
}

export const newLawChecker = (bounds: TimeBounds, outerOnly: boolean, more: readonly MakeLaw[]): LawChecker =>
  new LawChecker(decode, [...(outerOnly ? [] : innerLaws(decode)), ...outerLaws(bounds), ...more])
