// Rule: the four roles of a member and the changes between them.
//
// Laws
//   - a member enters a new term without a vote. Term and vote are durable before a message that depends on
//     them is sent.
//   - the data that only a leader needs (progress, reads, transfer, cluster time) is deleted when the
//     leadership ends.

import { assert } from '@latchkey/base'
import { ClusterClock } from './cluster-time.js'
import { endLeadershipReads, failForwarded } from './read-index.js'
import { appendOwn, trackMembers } from './replication.js'
import type { Progress } from './progress.js'
import type { State } from './state.js'
import type { MemberId } from './types.js'

/**
 * Draws the random time of this member's next campaign. A member whose state machine has lost its data waits
 * longer, because it must transfer the leadership after it wins (leader.ts).
 */
export function resetElectionTimer(state: State): void {
  const { electionTimeout } = state.options
  const wait = state.rebuilding ? 2 * electionTimeout : electionTimeout
  state.electionAt = state.clock + wait + state.random.between(0, electionTimeout)
  state.electionReason = 'timeout'
}

const restingRole = (state: State) => (state.votes ? 'follower' : 'learner')

export function becomeFollower(state: State, term: number, leader: MemberId | undefined): void {
  assert(term >= state.term, 'the term goes back')
  if (state.leading !== undefined) stopLeading(state)
  if (state.campaign?.kind === 'real') {
    const higherTerm = term > state.term ? term : undefined
    state.lostCampaign = { term: state.term, votes: state.campaign.votes, higherTerm }
  }
  if (term > state.term) newTerm(state, term)
  if (leader !== state.leader) newLeader(state)
  state.campaign = undefined
  state.leader = leader
  state.role = restingRole(state)
}

/**
 * Enters the term without a vote. `matched` starts at 0, because nobody knows yet up to where this log agrees
 * with the log of the new term's leader.
 */
function newTerm(state: State, term: number): void {
  state.term = term
  state.vote = undefined
  state.disk.noteHardState()
  state.matched = 0
  state.ackOwed = false
  state.ackRound = 0
}

function newLeader(state: State): void {
  failForwarded(state)
  if (state.staging !== undefined && !state.staging.installing) state.staging = undefined
}

function stopLeading(state: State): void {
  endLeadershipReads(state)
  for (const { id, snapshot } of state.leading?.peers ?? []) {
    if (snapshot !== undefined) state.out.push({ type: 'endSnapshot', to: id })
  }
  state.leading = undefined
  resetElectionTimer(state)
}

/**
 * A follower or learner takes the role that the membership gives it. A candidate that may no longer stand for
 * election ends its campaign.
 */
export function adjustRole(state: State): void {
  if (state.role === 'follower' || state.role === 'learner') state.role = restingRole(state)
  if (state.campaign !== undefined && !state.stands) becomeFollower(state, state.term, undefined)
}

export function becomeLeader(state: State): void {
  assert(state.role === 'candidate', 'only a candidate becomes leader')
  const { log, options, clock } = state
  const byId = new Map<MemberId, Progress>()
  newLeader(state)
  state.campaign = undefined
  state.role = 'leader'
  state.leader = state.id
  state.leading = {
    peers: [],
    byId,
    matchOf: (id) => (id === state.id ? state.disk.durable : counted(byId.get(id))),
    roundOf: (id) => (id === state.id ? Number.MAX_SAFE_INTEGER : (byId.get(id)?.round ?? 0)),
    clock: new ClusterClock(log.last.time, state.now, options.clamp),
    firstIndex: log.lastIndex + 1,
    heartbeatAt: clock + options.heartbeat,
    dirty: true,
    uncommittedBytes: log.bytesAfter(state.commit),
    round: 0,
    rounds: [],
    readsWaiting: [],
    transfer: undefined,
    targetAsked: false,
    commitSamples: {
      recent: log.lastIndex + 1,
      older: log.lastIndex + 1,
      at: clock + options.electionTimeout,
    },
  }
  trackMembers(state)
  appendOwn(state, 'empty', new Uint8Array(0))
}

/**
 * Returns the index up to which a member has the log. It is 0 for an unknown member, and for a member that
 * has lost entries that it had acknowledged ('refused').
 */
const counted = (peer: Progress | undefined): number =>
  peer === undefined || peer.state === 'refused' ? 0 : peer.match
