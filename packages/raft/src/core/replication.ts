// Rule: how a leader replicates its log, and when an entry is committed.
//
// Laws
//   - a leader only appends to its own log, and gives each entry its cluster time when it appends the entry
//     (CT2).
//   - only entries of the leader's own term are committed by counting (Figure 8 of Raft's paper, L1). An
//     entry is committed when it is durable on a quorum. The leader's own log counts only up to its durable
//     index (L6).
//   - the leader notices a lost append: it probes after a rejected append, and after an answer to a heartbeat
//     that shows no progress (L11).

import { assert } from '@latchkey/base'
import { announce } from './heartbeat.js'
import { membersOf } from './membership.js'
import { Progress } from './progress.js'
import { quorumValue } from './quorum.js'
import { confirmReads } from './read-index.js'
import { endTransferOf, needSnapshot, pumpSnapshot } from './send-snapshot.js'
import { type Leading, type State, appendEntry } from './state.js'
import type { EntryKind, Membership, MessageOf } from './types.js'

/**
 * In election timeouts, how long the leader sends the log to a removed member, so that the member learns of
 * its removal (M12).
 */
const REMOVED_TIMEOUTS = 10

export function appendOwn(state: State, kind: EntryKind, data: Uint8Array, membership?: Membership): number {
  const leading = state.leading as Leading
  const index = state.log.lastIndex + 1
  appendEntry(state, { index, term: state.term, time: leading.clock.read(state.now), kind, data })
  leading.uncommittedBytes += data.length
  if (membership !== undefined) {
    state.configs.append(index, membership)
    trackMembers(state)
    leading.dirty = true
  }
  return index
}

/**
 * Keeps one Progress for each other member. The Progress of a removed member is deleted after
 * REMOVED_TIMEOUTS election timeouts at the latest.
 */
export function trackMembers(state: State): void {
  const leading = state.leading as Leading
  const { byId, peers } = leading
  const members = membersOf(state.membership).filter((id) => id !== state.id)
  for (const id of members) {
    const known = byId.get(id)
    if (known !== undefined && known.leaving === undefined) continue
    if (known !== undefined) endTransferOf(state, known)
    byId.set(id, new Progress(id, state.log.lastIndex + 1, state.clock, state.options.maxInflight))
  }
  const until = state.clock + REMOVED_TIMEOUTS * state.options.electionTimeout
  for (const peer of byId.values()) {
    if (!members.includes(peer.id)) peer.leaving ??= { index: state.configs.index, until }
  }
  peers.length = 0
  peers.push(...[...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)))
}

export function forget(state: State, peer: Progress): void {
  const { byId, peers } = state.leading as Leading
  endTransferOf(state, peer)
  byId.delete(peer.id)
  peers.splice(peers.indexOf(peer), 1)
}

/** Moves the commit index up to the last entry that is durable on a quorum. Returns true if it has moved. */
export function moveCommit(state: State, leading: Leading): boolean {
  const index = quorumValue(state.membership, leading.matchOf)
  if (index <= state.commit || index < leading.firstIndex) return false
  for (let i = state.commit + 1; i <= index; i++) leading.uncommittedBytes -= state.log.entry(i).data.length
  state.commit = index
  return true
}

/**
 * Sends everything that can be sent to the peer now: appends, and the next step of a snapshot. A removed
 * member also gets the commit index, because the member stops when it knows that its removal is committed.
 */
export function pumpPeer(state: State, peer: Progress): void {
  if (peer.state === 'probe' && !peer.probing) sendAppend(state, peer, state.options.maxAppendBytes)
  while (peer.state === 'replicate' && peer.next <= state.log.lastIndex && !peer.window.full) {
    sendAppend(state, peer, state.options.maxAppendBytes)
  }
  if (peer.snapshot !== undefined) pumpSnapshot(state, peer)
  if (peer.leaving !== undefined) announce(state, peer, state.commit)
}

/**
 * Sends the next entries to the peer, up to `maxBytes`. With `maxBytes` 0 the append is empty, and its answer
 * says whether the peer has the entry before `next`. If this log no longer has the entry before `next`, a
 * snapshot transfer starts instead.
 */
function sendAppend(state: State, peer: Progress, maxBytes: number): void {
  const prevIndex = peer.next - 1
  const prevTerm = state.log.termAt(prevIndex)
  if (prevTerm === undefined) return needSnapshot(state, peer)
  const entries = maxBytes === 0 ? [] : state.log.batch(peer.next, maxBytes)
  const { id: from, term, commit, options } = state
  const round = (state.leading as Leading).round
  const { group } = options
  peer.sentCommit = commit
  state.send({ type: 'append', group, from, to: peer.id, term, prevIndex, prevTerm, commit, entries, round })
  if (peer.state === 'probe') {
    peer.probing = true
    peer.movedAt = state.clock
  } else if (entries.length > 0) {
    if (peer.window.count === 0) peer.movedAt = state.clock
    peer.next += entries.length
    peer.window.add(peer.next - 1)
  }
}

/**
 * Called for each answer to an append or a heartbeat. The answer proves that the peer lives and knows this
 * leader.
 */
function noteAnswer(state: State, peer: Progress, round: number): void {
  peer.answeredAt = state.clock
  if (round <= peer.round) return
  peer.round = round
  confirmReads(state)
}

function acknowledged(state: State, peer: Progress, match: number): void {
  assert(match <= state.log.lastIndex, 'more is acknowledged than was ever sent in this term')
  if (peer.state === 'refused') return
  if (peer.acknowledge(match, state.clock)) (state.leading as Leading).dirty = true
  if (peer.state === 'probe' && match >= peer.next - 1) peer.toReplicate()
  if (peer.state === 'snapshot' && match >= state.log.start.index) {
    endTransferOf(state, peer)
    peer.toReplicate()
  }
}

export function onAppendReply(state: State, peer: Progress, m: MessageOf<'appendReply'>): void {
  noteAnswer(state, peer, m.round)
  if (m.ok) return acknowledged(state, peer, m.match)
  if (peer.state === 'snapshot' || peer.state === 'refused') return
  if (m.rejected <= peer.match) return suspect(state, peer, m)
  // While the leader probes, it ignores answers to appends before the current probe (L9).
  if (peer.state === 'probe' && m.rejected !== peer.next - 1) return
  // The leader has sent no append at this index after the last probe began. So the answer is for an earlier
  // append.
  if (m.rejected >= peer.next) return
  const common = state.log.lastNotAbove(m.hintIndex, m.hintTerm).index
  peer.toProbe(Math.min(m.rejected, common + 1))
}

/**
 * Called when a member rejects an index that it has acknowledged. Usually an old answer has arrived late
 * (L9). So the leader probes this index again. If the member also rejects this probe, its disk was rolled
 * back to an old copy (D12).
 */
function suspect(state: State, peer: Progress, m: Extract<MessageOf<'appendReply'>, { ok: false }>): void {
  if (m.hintIndex >= peer.match) return
  const leading = state.leading as Leading
  if (peer.suspectRound === undefined) {
    peer.suspectRound = ++leading.round
    peer.toProbe(peer.match + 1)
  } else if (m.round >= peer.suspectRound) {
    state.out.push({ type: 'rolledBack', id: peer.id, acknowledged: peer.match, holds: m.hintIndex })
    peer.toRefused()
    leading.dirty = true
  }
}

export function onHeartbeatReply(state: State, peer: Progress, m: MessageOf<'heartbeatReply'>): void {
  noteAnswer(state, peer, m.round)
  if (m.match > peer.match) acknowledged(state, peer, m.match)
  if (state.clock - peer.movedAt < state.options.heartbeat) return
  if (peer.state === 'probe') peer.probing = false
  // The member has acknowledged less than the leader has sent, or now reports less than before. So either an
  // append was lost, or the member has restarted and does not know up to where its log agrees with the
  // leader's log. An empty append finds out which index the member needs.
  else if (peer.state === 'replicate' && (peer.match < peer.next - 1 || m.match < peer.match)) {
    peer.movedAt = state.clock
    sendAppend(state, peer, 0)
  }
}

/**
 * Called when the connection to this member is closed. The leader sends the member only heartbeats until the
 * member answers.
 */
export function onUnreachable(peer: Progress): void {
  if (peer.state !== 'replicate') return
  peer.toProbe(peer.match + 1)
  peer.probing = true
  peer.movedAt = Number.NEGATIVE_INFINITY
}
