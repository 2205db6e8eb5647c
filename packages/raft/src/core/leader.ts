// Rule: what a leader does at the end of each call and at each tick.
//
// Laws
//   - after a joint configuration is committed, the leader appends one entry to leave it (M5).
//   - a leader that is removed leads until its removal is committed. After the commit this leader transfers
//     the leadership (M11).
//   - a leader that has received no answers from a quorum for an election timeout steps down (check-quorum,
//     E11).

import { encodeMembership, isJoint } from './membership.js'
import { tellStored } from './entries-stored-by-all.js'
import { leftJoint } from './membership-change.js'
import { isQuorum } from './quorum.js'
import { pumpReads } from './read-index.js'
import { announce, sendHeartbeat } from './heartbeat.js'
import { appendOwn, forget, moveCommit, pumpPeer } from './replication.js'
import { becomeFollower } from './role-changes.js'
import { snapshotTick } from './send-snapshot.js'
import type { Leading, State } from './state.js'
import { pumpTransfer, sendTimeoutNow, transfer, transferTick } from './leadership-transfer.js'

export function finishLeading(state: State): void {
  const leading = state.leading
  if (leading === undefined) return
  while (leading.dirty) {
    leading.dirty = false
    moveCommit(state, leading)
    if (state.configs.index <= state.commit && state.commit >= leading.firstIndex) leaveJoint(state)
  }
  pumpReads(state)
  for (const peer of leading.peers) pumpPeer(state, peer)
  tellStored(state, leading)
  // If `rebuilding`, this leader's state machine has lost its data, so this leader can serve no client. It
  // transfers the leadership as soon as an entry of its term is committed.
  if (state.rebuilding && state.commit >= leading.firstIndex) transfer(state, undefined)
  pumpTransfer(state)
  if (leading.peers.some((peer) => peer.leaving !== undefined)) forgetRemoved(state, leading)
  if (state.configs.index <= state.commit && !state.votes) resign(state, leading)
}

function leaveJoint(state: State): void {
  if (!isJoint(state.membership)) return
  const left = leftJoint(state.membership)
  appendOwn(state, 'members', encodeMembership(left), left)
}

/**
 * Steps down after this leader's removal is committed. The member with the longest matching log is asked to
 * campaign immediately, so that the cluster does not wait for an election timeout.
 */
function resign(state: State, { peers }: Leading): void {
  for (const peer of peers) announce(state, peer, state.commit)
  sendTimeoutNow(state)
  becomeFollower(state, state.term, undefined)
}

/**
 * Stops sending to a removed member when that member knows that its removal is committed. If the member does
 * not learn this in time, the leader stops after ten election timeouts (M12).
 */
function forgetRemoved(state: State, leading: Leading): void {
  for (const peer of [...leading.peers]) {
    const { leaving } = peer
    if (leaving === undefined) continue
    const knowsRemoval = peer.match >= leaving.index && peer.sentCommit >= leaving.index
    if (knowsRemoval || state.clock >= leaving.until) forget(state, peer)
  }
}

export function leaderTick(state: State, leading: Leading): void {
  leading.clock.read(state.now)
  if (state.clock >= state.timers.calmAt && !hearsQuorum(state, leading)) {
    return becomeFollower(state, state.term, undefined)
  }
  transferTick(state, leading)
  for (const peer of leading.peers) snapshotTick(state, peer)
  sampleCommit(state, leading)
  if (state.clock < leading.heartbeatAt) {
    for (const peer of leading.peers) announce(state, peer, state.commit)
    return
  }
  leading.heartbeatAt = state.clock + state.options.heartbeat
  for (const peer of leading.peers) sendHeartbeat(state, peer)
}

function hearsQuorum(state: State, { byId }: Leading): boolean {
  const since = state.clock - state.options.electionTimeout
  return isQuorum(state.membership, (id) => id === state.id || (byId.get(id)?.answeredAt ?? since) > since)
}

function sampleCommit(state: State, { commitSamples }: Leading): void {
  if (state.clock < commitSamples.at) return
  commitSamples.at = state.clock + state.options.electionTimeout
  commitSamples.older = commitSamples.recent
  commitSamples.recent = state.commit
}
