// Rule: heartbeats, which carry the commit index and the number of the current read round (read-index.ts).

import type { Progress } from './progress.js'
import type { Leading, State } from './state.js'

export function sendHeartbeat(state: State, peer: Progress): void {
  const { id: from, term, commit, options } = state
  peer.sentCommit = commit
  const round = (state.leading as Leading).round
  state.send({ type: 'heartbeat', group: options.group, from, to: peer.id, term, commit, round })
}

/**
 * Sends the commit index in a heartbeat, if the peer does not have it. The leader does not call this function
 * for each commit. Usually the next append carries the commit index. A heartbeat for each commit would double
 * the number of messages.
 */
export function announce(state: State, peer: Progress, commit: number): void {
  if (peer.state === 'replicate' && peer.sentCommit < commit) sendHeartbeat(state, peer)
}
