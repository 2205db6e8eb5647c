// Rule: the smallest word of a leader: that it leads, what is committed, and which round of reads it is in.

import type { Progress } from './progress.js'
import type { Leading, State } from './state.js'

export function sendHeartbeat(state: State, peer: Progress): void {
  const { id: from, term, commit, options } = state
  peer.sentCommit = commit
  const round = (state.leading as Leading).round
  state.send({ type: 'heartbeat', group: options.group, from, to: peer.id, term, commit, round })
}

/**
 * What is committed travels with whatever is sent next. Told by itself each time it would double the messages of a lone caller's
 * commit; so that is done when nothing was sent for a while (Raft.announce), at each tick, and where somebody waits for it.
 */
export function announce(state: State, peer: Progress, commit: number): void {
  if (peer.state === 'replicate' && peer.sentCommit < commit) sendHeartbeat(state, peer)
}
