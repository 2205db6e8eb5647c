// Rule: how a leader sends a snapshot to a member whose next entry is no longer in the log.
//
// Laws
//   - the leader sends one piece at a time to a member, and sends snapshots to at most `maxSnapshots` members
//     at the same time.
//   - if a piece or its answer is lost, the leader sends the piece again after an election timeout, from the
//     offset that the member reports.
//   - if a member does not answer for an election timeout, the leader ends the transfer and keeps no log
//     entries for the member any more (S9).

import type { Progress, SnapshotTransfer } from './progress.js'
import type { Leading, State } from './state.js'
import type { LogPosition, MemberId, Membership, MessageOf } from './types.js'

export interface SnapshotPiece {
  readonly to: MemberId
  readonly position: LogPosition
  readonly membership: Membership
  readonly offset: number
  readonly chunk: Uint8Array
  readonly done: boolean
}

const isSilent = (state: State, peer: Progress): boolean =>
  state.clock - peer.answeredAt >= state.options.electionTimeout

export function needSnapshot(state: State, peer: Progress): void {
  endTransferOf(state, peer)
  peer.toSnapshot(state.clock)
}

export function pumpSnapshot(state: State, peer: Progress): void {
  const { snapshot } = peer
  if (snapshot?.phase !== 'waiting' || isSilent(state, peer)) return
  // If `rebuilding`, this leader's state machine has lost its data, so there is no snapshot to send. The next
  // leader will send one.
  if (state.rebuilding) return
  const { peers } = state.leading as Leading
  const busy = peers.filter((other) => other.snapshot !== undefined && other.snapshot.phase !== 'waiting')
  if (busy.length < state.options.maxSnapshots) ask(state, peer.id, snapshot)
}

function ask(state: State, to: MemberId, snapshot: SnapshotTransfer): void {
  snapshot.phase = 'reading'
  snapshot.since = state.clock
  const { offset, position } = snapshot
  state.out.push({ type: 'readSnapshot', to, offset, position })
}

export function onPiece(state: State, piece: SnapshotPiece): void {
  const peer = state.leading?.byId.get(piece.to)
  const snapshot = peer?.snapshot
  if (peer === undefined || snapshot === undefined || snapshot.phase === 'waiting') return
  const { position } = piece
  // If the log was compacted beyond the snapshot's position, the leader begins with a newer snapshot. A
  // member that installed the old snapshot would immediately need another snapshot (S9).
  if (position.index < state.log.start.index) return startAgain(state, peer)
  if (snapshot.position?.index !== position.index) {
    if (piece.offset !== 0 || snapshot.phase !== 'reading') return
    snapshot.position = position
    snapshot.offset = 0
  }
  if (piece.offset !== snapshot.offset) return
  snapshot.phase = 'sent'
  snapshot.end = piece.offset + piece.chunk.length
  snapshot.done = piece.done
  snapshot.since = state.clock
  const { id: from, term, options } = state
  state.send({ ...piece, type: 'snapshot', group: options.group, from, term })
}

export function onSnapshotReply(state: State, peer: Progress, m: MessageOf<'snapshotReply'>): void {
  peer.answeredAt = state.clock
  const { snapshot } = peer
  if (m.position.index === 0) return asked(state, peer)
  if (snapshot?.position === undefined || snapshot.position.index !== m.position.index) return
  if (m.installed) return installed(state, peer, m.position.index)
  if (m.offset === snapshot.end && snapshot.phase === 'sent') return next(state, peer.id, snapshot)
  // If the piece was sent twice, the member must report the offset before or after this piece. If it reports
  // another offset, the member has lost the bytes that it had.
  if (snapshot.again && m.offset !== snapshot.end && m.offset !== snapshot.offset) startAgain(state, peer)
}

/**
 * Called when a member asks for a snapshot and names no position. The member's state machine has lost its
 * data, or the member cannot use the snapshot that it receives.
 */
function asked(state: State, peer: Progress): void {
  if (peer.snapshot?.again) startAgain(state, peer)
  else if (peer.snapshot === undefined) peer.wantSnapshot(state.clock, true)
}

function next(state: State, to: MemberId, snapshot: SnapshotTransfer): void {
  if (snapshot.done) {
    snapshot.phase = 'installing'
    snapshot.since = state.clock
    return
  }
  snapshot.offset = snapshot.end
  snapshot.again = false
  ask(state, to, snapshot)
}

function installed(state: State, peer: Progress, index: number): void {
  endTransferOf(state, peer)
  if (peer.acknowledge(index, state.clock)) (state.leading as Leading).dirty = true
  if (peer.state === 'snapshot') peer.toReplicate()
}

function startAgain(state: State, peer: Progress): void {
  const asked = peer.snapshot?.asked ?? false
  endTransferOf(state, peer)
  peer.wantSnapshot(state.clock, asked)
}

export function snapshotTick(state: State, peer: Progress): void {
  const { snapshot } = peer
  if (snapshot === undefined || snapshot.phase === 'waiting') return
  if (isSilent(state, peer)) return giveUp(state, peer)
  if (snapshot.phase === 'reading') return
  if (state.clock - snapshot.since < state.options.electionTimeout) return
  snapshot.again = true
  ask(state, peer.id, snapshot)
}

/**
 * Called when the driver cannot read the snapshot, or when the member does not answer. After the transfer the
 * leader probes to find out what the member needs.
 */
export function giveUp(state: State, peer: Progress): void {
  endTransferOf(state, peer)
  if (peer.state !== 'snapshot') return
  peer.toProbe(peer.next)
  peer.probing = true
  peer.movedAt = Number.NEGATIVE_INFINITY
}

/**
 * Ends the transfer to the peer. The `endSnapshot` effect makes the driver close the copy of the state from
 * which it read the pieces.
 */
export function endTransferOf(state: State, peer: Progress): void {
  if (peer.snapshot !== undefined && peer.snapshot.phase !== 'waiting') {
    state.out.push({ type: 'endSnapshot', to: peer.id })
  }
  peer.snapshot = undefined
}

/**
 * Returns the index up to which the log may be compacted. While a snapshot is being sent, the entries after
 * the snapshot stay, because the receiver needs these entries next (S9).
 */
export function pinned(state: State, index: number): number {
  let keep = index
  for (const { snapshot } of state.leading?.peers ?? []) {
    if (snapshot?.position !== undefined) keep = Math.min(keep, snapshot.position.index)
  }
  return keep
}
