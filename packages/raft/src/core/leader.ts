// Rule: what a leader does at the end of each call and at each tick.
//
// Laws
//   - once a joint configuration is committed, the leader appends exactly one entry to leave it (M5)
//   - a leader that is no voter any more leads until the configuration without it is committed, then passes
//     the leadership on (M11)
//   - a leader that has not heard from a quorum for an election timeout steps down (check-quorum, E11)

import { encodeMembership, isJoint } from './membership.js'
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
  // A leader that has lost its own state leads only until it can transfer the leadership. Only its log may be
  // complete enough to win the election, so the leader first copies its log to a member that has its state.
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
 * Passes the leadership on. The commit index goes to all members first. Then the member with the most
 * advanced log is asked to campaign at once, so that the members need not wait for a timeout.
 */
function resign(state: State, { peers }: Leading): void {
  for (const peer of peers) announce(state, peer, state.commit)
  sendTimeoutNow(state)
  becomeFollower(state, state.term, undefined)
}

/**
 * Stops sending to removed members. A removed member must get the entry of its removal and the commit index
 * of that entry. Then this leader forgets the member (M12).
 */
function forgetRemoved(state: State, leading: Leading): void {
  for (const peer of [...leading.peers]) {
    const { leaving } = peer
    if (leaving === undefined) continue
    const told = peer.match >= leaving.index && peer.sentCommit >= leaving.index
    if (told || state.clock >= leaving.until) forget(state, peer)
  }
}

export function leaderTick(state: State, leading: Leading): void {
  leading.clock.read(state.now)
  if (state.clock >= state.timers.calmAt && !hearsQuorum(state, leading)) {
    return becomeFollower(state, state.term, undefined)
  }
  transferTick(state, leading)
  for (const peer of leading.peers) snapshotTick(state, peer)
  markProgress(state, leading)
  if (state.clock < leading.heartbeatAt) {
    for (const peer of leading.peers) announce(state, peer, state.commit)
    return
  }
  leading.heartbeatAt = state.clock + state.options.heartbeat
  for (const peer of leading.peers) sendHeartbeat(state, peer)
}

function hearsQuorum(state: State, { byId }: Leading): boolean {
  const since = state.clock - state.options.electionTimeout
  return isQuorum(state.membership, (id) => id === state.id || (byId.get(id)?.heardAt ?? since) > since)
}

function markProgress(state: State, { marks }: Leading): void {
  if (state.clock < marks.at) return
  marks.at = state.clock + state.options.electionTimeout
  marks.older = marks.recent
  marks.recent = state.commit
}
