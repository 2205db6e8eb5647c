// Rule: the modules of the product whose exports known bugs replace. bugs/core-exports.ts has those of the
// core.

import type * as clock from '../../../../../packages/base/dist/clock.js'
import type * as activeLink from '../../../../../packages/client/dist/engine/shared-by-all-calls.js'
import type * as linkReports from '../../../../../packages/client/dist/engine/link-message-dispatcher.js'
import type * as keepAlive from '../../../../../packages/client/dist/engine/session-keep-alive.js'
import type * as silenceDetector from '../../../../../packages/client/dist/engine/silence-detector.js'
import type * as applyOnce from '../../../../../packages/client/dist/store/apply-once.js'
import type * as partyWait from '../../../../../packages/client/dist/store/latch-and-barrier-wait.js'
import type * as rangeFollower from '../../../../../packages/client/dist/store/range-follower.js'
import type * as clientClusterCheck from '../../../../../packages/client/dist/wrong-cluster-check.js'
import type * as flusher from '../../../../../packages/kv/dist/flusher.js'
import type * as stateMachine from '../../../../../packages/kv/dist/key-value-state-machine.js'
import type * as barriers from '../../../../../packages/kv/dist/rules/barriers.js'
import type * as writeSet from '../../../../../packages/kv/dist/rules/command-write-set.js'
import type * as latches from '../../../../../packages/kv/dist/rules/countdown-latches.js'
import type * as endWaits from '../../../../../packages/kv/dist/rules/end-latch-and-barrier-waits.js'
import type * as keyExpiry from '../../../../../packages/kv/dist/rules/key-expiry.js'
import type * as waits from '../../../../../packages/kv/dist/rules/latch-and-barrier-waits.js'
import type * as onceAnswers from '../../../../../packages/kv/dist/rules/once-answers.js'
import type * as lockTables from '../../../../../packages/kv/dist/rules/tables-for-lock-rules.js'
import type * as fencingCounters from '../../../../../packages/kv/dist/state/fencing-counters.js'
import type * as expiryIndex from '../../../../../packages/kv/dist/state/key-expiry-index.js'
import type * as expiryRows from '../../../../../packages/kv/dist/state/key-expiry-index-rows.js'
import type * as metaRow from '../../../../../packages/kv/dist/state/meta-row.js'
import type * as sessions from '../../../../../packages/kv/dist/state/sessions.js'
import type * as eventLog from '../../../../../packages/kv/dist/storage/event-log.js'
import type * as rowsWithEventLog from '../../../../../packages/kv/dist/storage/level-and-event-log-row-store.js'
import type * as scanRows from '../../../../../packages/kv/dist/storage/scan-rows.js'
import type * as leaderReach from '../../../../../packages/latchkey/dist/member/contact-with-leader.js'
import type * as memberLinks from '../../../../../packages/latchkey/dist/member/store-links-between-members.js'
import type * as timeBound from '../../../../../packages/lock/dist/holding/cluster-time-bound.js'
import type * as holdValidity from '../../../../../packages/lock/dist/holding/hold-validity.js'
import type * as renewalTimes from '../../../../../packages/lock/dist/holding/renewal-times.js'
import type * as acquire from '../../../../../packages/lock/dist/rules/acquire.js'
import type * as deadlockDetection from '../../../../../packages/lock/dist/rules/deadlock-detection.js'
import type * as expiry from '../../../../../packages/lock/dist/rules/expiry.js'
import type * as holdChanges from '../../../../../packages/lock/dist/rules/downgrade-proclaim-rotate.js'
import type * as lockReads from '../../../../../packages/lock/dist/rules/lock-reads.js'
import type * as queue from '../../../../../packages/lock/dist/rules/queue.js'
import type * as release from '../../../../../packages/lock/dist/rules/release.js'
import type * as keySets from '../../../../../packages/lock/dist/rules/waiting-key-sets.js'
import type * as sendSnapshot from '../../../../../packages/raft/dist/core/send-snapshot.js'
import type * as proposals from '../../../../../packages/raft/dist/node/callers-waiting-for-entries.js'
import type * as reads from '../../../../../packages/raft/dist/node/linearizable-reads.js'
import type * as logWriter from '../../../../../packages/raft/dist/node/log-writer.js'
import type * as node from '../../../../../packages/raft/dist/node/node.js'
import type * as memberClusterCheck from '../../../../../packages/raft/dist/node/data-directory-in-wrong-cluster.js'
import type * as recordDecoder from '../../../../../packages/raft/dist/wal/record-decoder.js'
import type * as segmentWriter from '../../../../../packages/raft/dist/wal/segment-writer.js'
import { exportsOf } from '../../run/changed-packages.js'

export const inClock = exportsOf<typeof clock>('base/clock')
export const inActiveLink = exportsOf<typeof activeLink>('client/engine/shared-by-all-calls')
export const inLinkReports = exportsOf<typeof linkReports>('client/engine/link-message-dispatcher')
export const inKeepAlive = exportsOf<typeof keepAlive>('client/engine/session-keep-alive')
export const inSilenceDetector = exportsOf<typeof silenceDetector>('client/engine/silence-detector')
export const inApplyOnce = exportsOf<typeof applyOnce>('client/store/apply-once')
export const inPartyWait = exportsOf<typeof partyWait>('client/store/latch-and-barrier-wait')
export const inRangeFollower = exportsOf<typeof rangeFollower>('client/store/range-follower')
export const inClientClusterCheck = exportsOf<typeof clientClusterCheck>('client/wrong-cluster-check')
export const inFlusher = exportsOf<typeof flusher>('kv/flusher')
export const inStateMachine = exportsOf<typeof stateMachine>('kv/key-value-state-machine')
export const inBarriers = exportsOf<typeof barriers>('kv/rules/barriers')
export const inWriteSet = exportsOf<typeof writeSet>('kv/rules/command-write-set')
export const inLatches = exportsOf<typeof latches>('kv/rules/countdown-latches')
export const inEndWaits = exportsOf<typeof endWaits>('kv/rules/end-latch-and-barrier-waits')
export const inKeyExpiry = exportsOf<typeof keyExpiry>('kv/rules/key-expiry')
export const inWaits = exportsOf<typeof waits>('kv/rules/latch-and-barrier-waits')
export const inOnceAnswers = exportsOf<typeof onceAnswers>('kv/rules/once-answers')
export const inLockTables = exportsOf<typeof lockTables>('kv/rules/tables-for-lock-rules')
export const inFencingCounters = exportsOf<typeof fencingCounters>('kv/state/fencing-counters')
export const inExpiryIndex = exportsOf<typeof expiryIndex>('kv/state/key-expiry-index')
export const inExpiryRows = exportsOf<typeof expiryRows>('kv/state/key-expiry-index-rows')
export const inMetaRow = exportsOf<typeof metaRow>('kv/state/meta-row')
export const inSessions = exportsOf<typeof sessions>('kv/state/sessions')
export const inEventLog = exportsOf<typeof eventLog>('kv/storage/event-log')
export const inRowsWithEventLog = exportsOf<typeof rowsWithEventLog>(
  'kv/storage/level-and-event-log-row-store',
)
export const inScanRows = exportsOf<typeof scanRows>('kv/storage/scan-rows')
export const inLeaderReach = exportsOf<typeof leaderReach>('latchkey/member/contact-with-leader')
export const inMemberLinks = exportsOf<typeof memberLinks>('latchkey/member/store-links-between-members')
export const inTimeBound = exportsOf<typeof timeBound>('lock/holding/cluster-time-bound')
export const inHoldValidity = exportsOf<typeof holdValidity>('lock/holding/hold-validity')
export const inRenewalTimes = exportsOf<typeof renewalTimes>('lock/holding/renewal-times')
export const inAcquire = exportsOf<typeof acquire>('lock/rules/acquire')
export const inDeadlockDetection = exportsOf<typeof deadlockDetection>('lock/rules/deadlock-detection')
export const inExpiry = exportsOf<typeof expiry>('lock/rules/expiry')
export const inHoldChanges = exportsOf<typeof holdChanges>('lock/rules/downgrade-proclaim-rotate')
export const inLockReads = exportsOf<typeof lockReads>('lock/rules/lock-reads')
export const inQueue = exportsOf<typeof queue>('lock/rules/queue')
export const inRelease = exportsOf<typeof release>('lock/rules/release')
export const inKeySets = exportsOf<typeof keySets>('lock/rules/waiting-key-sets')
export const inSendSnapshot = exportsOf<typeof sendSnapshot>('raft/core/send-snapshot')
export const inProposals = exportsOf<typeof proposals>('raft/node/callers-waiting-for-entries')
export const inReads = exportsOf<typeof reads>('raft/node/linearizable-reads')
export const inLogWriter = exportsOf<typeof logWriter>('raft/node/log-writer')
export const inNode = exportsOf<typeof node>('raft/node/node')
export const inMemberClusterCheck = exportsOf<typeof memberClusterCheck>(
  'raft/node/data-directory-in-wrong-cluster',
)
export const inRecordDecoder = exportsOf<typeof recordDecoder>('raft/wal/record-decoder')
export const inSegmentWriter = exportsOf<typeof segmentWriter>('raft/wal/segment-writer')
