// Rule: how a leader replicates its log, and when an entry is committed.
//
// Laws
//   - a leader never changes or removes its own entries. Only the leader gives entries their cluster time,
//     when it appends them (CT2)
//   - only entries of the leader's own term are committed by counting (Figure 8 of Raft's paper, L1). An
//     entry needs a quorum of durable logs. The leader's own log counts only as far as its disk holds it (L6)
//   - a lost append is found: the leader probes after a rejected append, and after an answer to a heartbeat
//     that shows no progress (L11)

import { assert } from '@latchkey/base'
import { announce } from './heartbeat.js'
import { membersOf } from './membership.js'
import { Progress } from './progress.js'
import { quorumValue } from './quorum.js'
import { confirmReads } from './read-index.js'
import { endTransferOf, needSnapshot, pumpSnapshot } from './send-snapshot.js'
import { type Leading, type State, appendEntry } from './state.js'
import type { EntryKind, Membership, Message } from './types.js'

type Of<Type extends Message['type']> = Extract<Message, { type: Type }>

/**
 * In election timeouts. The leader sends the log to a removed member for at most this long, so that the
 * member learns of its removal (M12).
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
 * Keeps one Progress for each other member. A removed member is sent the entry that removes it for ten
 * election timeouts at most. Then its Progress is deleted.
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

/** Returns true when the commit index has moved. */
export function moveCommit(state: State, leading: Leading): boolean {
  const index = quorumValue(state.membership, leading.matchOf)
  if (index <= state.commit || index < leading.firstIndex) return false
  for (let i = state.commit + 1; i <= index; i++) leading.uncommittedBytes -= state.log.entry(i).data.length
  state.commit = index
  return true
}

/**
 * Sends all messages that this peer may be sent now. A removed member is sent the commit index at once,
 * because it stops when it knows that its removal is committed.
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
 * Sends the next entries to the peer, up to `maxBytes`. If `maxBytes` is 0, the append is empty. An empty
 * append only asks whether the entry before the append has arrived.
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

/** Any answer of this term proves that the peer is alive and knows this leader. */
function heard(state: State, peer: Progress, round: number): void {
  peer.heardAt = state.clock
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

export function onAppendReply(state: State, peer: Progress, m: Of<'appendReply'>): void {
  heard(state, peer, m.round)
  if (m.ok) return acknowledged(state, peer, m.match)
  if (peer.state === 'snapshot' || peer.state === 'refused') return
  if (m.rejected <= peer.match) return suspect(state, peer, m)
  // While the leader probes, only the answer to the current probe counts. All other answers belong to earlier
  // appends (L9).
  if (peer.state === 'probe' && m.rejected !== peer.next - 1) return
  // The leader has not sent the rejected index in this term, so the answer belongs to a message
  // of another term.
  if (m.rejected >= peer.next) return
  const common = state.log.lastNotAbove(m.hintIndex, m.hintTerm).index
  peer.toProbe(Math.min(m.rejected, common + 1))
}

/**
 * The member rejects an index that it had acknowledged. Usually such an answer is an old one that arrives
 * late (L9). But if the member rejects the index again in its answer to a later message, its disk has been
 * rolled back (D12).
 */
function suspect(state: State, peer: Progress, m: Extract<Of<'appendReply'>, { ok: false }>): void {
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

export function onHeartbeatReply(state: State, peer: Progress, m: Of<'heartbeatReply'>): void {
  heard(state, peer, m.round)
  if (m.match > peer.match) acknowledged(state, peer, m.match)
  if (state.clock - peer.movedAt < state.options.heartbeat) return
  if (peer.state === 'probe') peer.probing = false
  // An append was lost, or the member has restarted and no longer knows up to where its log agrees
  // with the leader's.
  else if (peer.state === 'replicate' && (peer.match < peer.next - 1 || m.match < peer.match)) {
    peer.movedAt = state.clock
    sendAppend(state, peer, 0)
  }
}

/**
 * Called when messages to this member are lost. The leader sends the member only heartbeats until the member
 * answers one.
 */
export function onUnreachable(peer: Progress): void {
  if (peer.state !== 'replicate') return
  peer.toProbe(peer.match + 1)
  peer.probing = true
  peer.movedAt = Number.NEGATIVE_INFINITY
}
