// Rule: what a leader does at the end of each call and at each tick.
//
// Laws
//   - the leader of a joint configuration leaves it by exactly one entry, once the joint one is committed (M5)
//   - a leader that is no voter any more leads until that configuration is committed, then gives the lead away (M11)
//   - a leader that has not heard a quorum for an election timeout steps down (check-quorum, E11)

import { encodeMembership, isJoint } from './membership.js'
import { leftJoint } from './membership-change.js'
import { isQuorum } from './quorum.js'
import { pumpReads } from './read-index.js'
import { announce, sendHeartbeat } from './heartbeat.js'
import { appendOwn, forget, moveCommit, pumpPeer } from './replication.js'
import { becomeFollower } from './roles.js'
import { snapshotTick } from './snapshot-out.js'
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
  // Its state is gone: it leads only as long as it takes to bring its log to one whose state is not.
  if (state.rebuilding && state.commit >= leading.firstIndex) transfer(state, undefined)
  pumpTransfer(state)
  if (leading.peers.some((peer) => peer.leaving !== undefined)) seeOff(state, leading)
  if (state.configs.index <= state.commit && !state.votes) resign(state, leading)
}

function leaveJoint(state: State): void {
  if (!isJoint(state.membership)) return
  const left = leftJoint(state.membership)
  appendOwn(state, 'members', encodeMembership(left), left)
}

/** The others are told the commit index first; the one that is furthest need not wait for a timeout. */
function resign(state: State, { peers }: Leading): void {
  for (const peer of peers) announce(state, peer, state.commit)
  sendTimeoutNow(state)
  becomeFollower(state, state.term, undefined)
}

/** A removed member has heard enough once it knows that its removal is committed (M12). */
function seeOff(state: State, leading: Leading): void {
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
