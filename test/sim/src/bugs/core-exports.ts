// Rule: the modules of the core whose exports known bugs replace.

import type * as clusterTime from '../../../../packages/raft/dist/core/cluster-time.js'
import type * as collectEffects from '../../../../packages/raft/dist/core/collect-effects.js'
import type * as durable from '../../../../packages/raft/dist/core/durable-before-send.js'
import type * as election from '../../../../packages/raft/dist/core/election.js'
import type * as entriesStoredByAll from '../../../../packages/raft/dist/core/entries-stored-by-all.js'
import type * as follower from '../../../../packages/raft/dist/core/follower.js'
import type * as leader from '../../../../packages/raft/dist/core/leader.js'
import type * as log from '../../../../packages/raft/dist/core/log-in-memory.js'
import type * as membershipChange from '../../../../packages/raft/dist/core/membership-change.js'
import type * as membership from '../../../../packages/raft/dist/core/membership.js'
import type * as messageDispatch from '../../../../packages/raft/dist/core/message-dispatch.js'
import type * as progress from '../../../../packages/raft/dist/core/progress.js'
import type * as quorum from '../../../../packages/raft/dist/core/quorum.js'
import type * as readIndex from '../../../../packages/raft/dist/core/read-index.js'
import type * as receiveSnapshot from '../../../../packages/raft/dist/core/receive-snapshot.js'
import type * as replication from '../../../../packages/raft/dist/core/replication.js'
import type * as roleChanges from '../../../../packages/raft/dist/core/role-changes.js'
import { exportsOf } from '../run/changed-packages.js'

export const inClusterTime = exportsOf<typeof clusterTime>('raft/core/cluster-time')
export const inCollectEffects = exportsOf<typeof collectEffects>('raft/core/collect-effects')
export const inDurableBeforeSend = exportsOf<typeof durable>('raft/core/durable-before-send')
export const inElection = exportsOf<typeof election>('raft/core/election')
export const inEntriesStoredByAll = exportsOf<typeof entriesStoredByAll>('raft/core/entries-stored-by-all')
export const inFollower = exportsOf<typeof follower>('raft/core/follower')
export const inLeader = exportsOf<typeof leader>('raft/core/leader')
export const inLog = exportsOf<typeof log>('raft/core/log-in-memory')
export const inMembershipChange = exportsOf<typeof membershipChange>('raft/core/membership-change')
export const inMembership = exportsOf<typeof membership>('raft/core/membership')
export const inMessageDispatch = exportsOf<typeof messageDispatch>('raft/core/message-dispatch')
export const inProgress = exportsOf<typeof progress>('raft/core/progress')
export const inQuorum = exportsOf<typeof quorum>('raft/core/quorum')
export const inReadIndex = exportsOf<typeof readIndex>('raft/core/read-index')
export const inReceiveSnapshot = exportsOf<typeof receiveSnapshot>('raft/core/receive-snapshot')
export const inReplication = exportsOf<typeof replication>('raft/core/replication')
export const inRoleChanges = exportsOf<typeof roleChanges>('raft/core/role-changes')
