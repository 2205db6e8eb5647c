// Rule: compares a message's term with this member's term, and calls the function for the message's type.
//
// Laws
//   - a message of a higher term makes this member enter that term. There are two exceptions: a pre-vote
//     request, and a vote request while this member receives messages from its leader (stickiness).
//   - an answer counts only if its sender is a member and the answer is of the current term. An answer to a
//     pre-vote may have an older term: it carries its sender's term, because a pre-vote changes no term.

import { isSticky, onPreVote, onPreVoteReply, onTimeoutNow, onVote, onVoteReply } from './election.js'
import { onStoredByAll } from './entries-stored-by-all.js'
import { onAppend, onHeartbeat, refuseOldLeader } from './follower.js'
import { isMember } from './membership.js'
import type { Progress } from './progress.js'
import { onReadIndex, onReadIndexReply } from './read-index.js'
import { onAppendReply, onHeartbeatReply } from './replication.js'
import { becomeFollower } from './role-changes.js'
import { onSnapshot } from './receive-snapshot.js'
import { onSnapshotReply } from './send-snapshot.js'
import type { State } from './state.js'
import type { LeaderMessage, Message, MessageOf } from './types.js'

export function refuse(state: State, why: string): void {
  state.refused.count++
  state.refused.last = why
}

export function receive(state: State, m: Message): void {
  switch (m.type) {
    case 'preVote':
      return onPreVote(state, m)
    case 'vote':
      return vote(state, m)
    case 'append':
    case 'heartbeat':
    case 'storedByAll':
    case 'snapshot':
      return fromLeader(state, m)
    case 'timeoutNow':
      return onTimeoutNow(state, m)
    case 'readIndex':
      return onReadIndex(state, m)
    default:
      return answer(state, m)
  }
}

/**
 * While this member receives messages from its leader, it refuses vote requests of a higher term, except in a
 * leadership transfer. This check comes first, because a refused request must not change the term.
 */
function vote(state: State, m: MessageOf<'vote'>): void {
  if (m.term > state.term) {
    if (isSticky(state) && !m.transfer) return refuse(state, 'a leader is alive')
    becomeFollower(state, m.term, undefined)
  }
  if (m.term === state.term) return onVote(state, m)
  const { id: from, term, options } = state
  state.send({ type: 'voteReply', group: options.group, from, to: m.from, term, granted: false })
}

function fromLeader(state: State, m: LeaderMessage): void {
  if (m.term < state.term) return refuseOldLeader(state, m)
  if (m.term > state.term) becomeFollower(state, m.term, m.from)
  if (m.type === 'append') onAppend(state, m)
  else if (m.type === 'heartbeat') onHeartbeat(state, m)
  else if (m.type === 'storedByAll') onStoredByAll(state, m)
  else onSnapshot(state, m)
}

function answer(state: State, m: Message): void {
  const peer = state.leading?.byId.get(m.from)
  if (peer === undefined && !isMember(state.membership, m.from) && m.from !== state.leader) {
    return refuse(state, 'an answer from a stranger')
  }
  if (m.type === 'preVoteReply') return onPreVoteReply(state, m)
  if (m.term < state.term) return
  if (m.term > state.term) return becomeFollower(state, m.term, undefined)
  if (m.type === 'voteReply') return onVoteReply(state, m)
  if (m.type === 'readIndexReply') return onReadIndexReply(state, m)
  if (peer !== undefined) progress(state, peer, m)
}

function progress(state: State, peer: Progress, m: Message): void {
  if (m.type === 'appendReply') onAppendReply(state, peer, m)
  else if (m.type === 'heartbeatReply') onHeartbeatReply(state, peer, m)
  else if (m.type === 'snapshotReply') onSnapshotReply(state, peer, m)
}

/**
 * Sends the messages that waited for this member's disk (durable-before-send.ts). Vote requests are dropped
 * if this member is no candidate any more.
 */
export function sendKept(state: State): void {
  for (const message of state.disk.kept(state.term)) {
    if (message.type !== 'vote' || state.role === 'candidate') state.send(message)
  }
}
