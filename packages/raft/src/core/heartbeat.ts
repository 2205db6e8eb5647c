// Rule: heartbeats: the leader's smallest message, with the commit index and the current read round.

import type { Progress } from './progress.js'
import type { Leading, State } from './state.js'

export function sendHeartbeat(state: State, peer: Progress): void {
  const { id: from, term, commit, options } = state
  peer.sentCommit = commit
  const round = (state.leading as Leading).round
  state.send({ type: 'heartbeat', group: options.group, from, to: peer.id, term, commit, round })
}

/**
 * Sends the commit index to this peer. Normally the next message to the peer carries the commit index. A
 * message for each commit would double the number of messages if there is only one caller. So this function
 * is used in three cases only: if nothing was sent for a while (Raft.announce), at each tick, and if a caller
 * waits for the commit.
 */
export function announce(state: State, peer: Progress, commit: number): void {
  if (peer.state === 'replicate' && peer.sentCommit < commit) sendHeartbeat(state, peer)
}
