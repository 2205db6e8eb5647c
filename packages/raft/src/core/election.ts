// Rule: elections, with pre-votes, votes, and the reasons to refuse a vote. Usually a member waits for an
// election timeout before it campaigns. It does not wait if the leader's process has ended, if the leader
// transfers its leadership, or if the member is the only voter. It also does not wait when the members of a
// new cluster have connected.
//
// Laws
//   - a member gives at most one vote in a term, to itself or to another member. The vote is on disk before
//     it is sent (E1, E4, E21).
//   - a member refuses a candidate whose log is behind its own log (E5). A pre-vote promises nothing and
//     changes no term.
//   - a member that has received a message from its leader within an election timeout refuses all candidates
//     (stickiness: E10, E12, E13). Two exceptions: the leader itself asked for the election (transfer), or
//     this member noticed that the leader's process ended (leaderGone).
//   - after a lost election a candidate waits for a whole random timeout (E20).

import { votersBut } from './membership.js'
import { tally } from './quorum.js'
import { becomeFollower, becomeLeader, resetElectionTimer } from './role-changes.js'
import type { ElectionReason, State } from './state.js'
import type { MemberId, MessageOf } from './types.js'

/**
 * The number of time slots of a fast election, which does not wait for an election timeout. The voters start
 * in successive slots, in the order of their ids. A slot lasts 1/40 of the election timeout. So with eight
 * slots, even the last voter starts before an ordinary election timeout.
 */
const FAST_SLOTS = 8

/**
 * True if this member may campaign: the membership allows it (State.stands), this member has not lost its
 * disk (State.mayVote), and no snapshot is being installed (E14).
 */
function mayCampaign(state: State): boolean {
  return state.stands && state.mayVote && state.staging?.installing !== true
}

/**
 * True if this member refuses candidates: it leads, or it has received a message from its leader within an
 * election timeout.
 */
export function isSticky(state: State): boolean {
  if (state.role === 'leader') return true
  return state.leader !== undefined && state.clock - state.leaderMessageAt < state.options.electionTimeout
}

export function noteLeaderMessage(state: State): void {
  state.leaderMessageAt = state.clock
  resetElectionTimer(state)
}

export function electionTick(state: State): void {
  if (!state.timers.due(state.electionAt)) return
  const why = state.electionReason
  if (!mayCampaign(state)) {
    becomeFollower(state, state.term, undefined)
    resetElectionTimer(state)
  } else if (state.options.preVote) startPreVote(state, why)
  else startCampaign(state, why)
}

function startPreVote(state: State, why: ElectionReason): void {
  becomeFollower(state, state.term, undefined)
  resetElectionTimer(state)
  const term = state.term + 1
  state.campaign = { kind: 'pre', why, term, votes: new Map([[state.id, true]]) }
  const last = state.log.last
  for (const to of otherVoters(state)) {
    const { id: from, options } = state
    state.send({
      type: 'preVote',
      group: options.group,
      from,
      to,
      term,
      lastIndex: last.index,
      lastTerm: last.term,
    })
  }
  countVotes(state)
}

/**
 * Starts an election. The vote requests wait until this member's own vote is durable. Without this rule: the
 * candidate asks for votes in term 5, crashes, forgets term 5, and votes for another candidate in term 5.
 * Then term 5 can get two leaders (E4).
 */
function startCampaign(state: State, why: ElectionReason): void {
  becomeFollower(state, state.term + 1, undefined)
  resetElectionTimer(state)
  state.vote = state.id
  state.role = 'candidate'
  state.campaign = { kind: 'real', why, term: state.term, votes: new Map() }
  const { id: from, term, options, log } = state
  const { index: lastIndex, term: lastTerm } = log.last
  for (const to of otherVoters(state)) {
    state.disk.promiseHardState({
      type: 'vote',
      group: options.group,
      from,
      to,
      term,
      lastIndex,
      lastTerm,
      transfer: why === 'transfer',
    })
  }
}

/** A candidate counts its own vote only after the vote has become durable (E21). */
export function ownVoteDurable(state: State): void {
  if (state.campaign?.kind !== 'real' || state.campaign.votes.has(state.id)) return
  if (!state.disk.hardStateDurable) return
  state.campaign.votes.set(state.id, true)
  countVotes(state)
}

function countVotes(state: State): void {
  const campaign = state.campaign
  if (campaign === undefined) return
  const result = tally(state.membership, campaign.votes)
  if (result === 'open') return
  if (result === 'lost') becomeFollower(state, state.term, undefined)
  else if (campaign.kind === 'pre') startCampaign(state, campaign.why)
  else becomeLeader(state)
}

export function onPreVote(state: State, m: MessageOf<'preVote'>): void {
  const granted =
    state.mayVote && m.term > state.term && !isSticky(state) && state.log.isUpToDate(m.lastIndex, m.lastTerm)
  const { id: from, term, options } = state
  state.send({
    type: 'preVoteReply',
    group: options.group,
    from,
    to: m.from,
    term,
    granted,
    campaignTerm: m.term,
  })
}

export function onPreVoteReply(state: State, m: MessageOf<'preVoteReply'>): void {
  if (!m.granted && m.term > state.term) return becomeFollower(state, m.term, undefined)
  const campaign = state.campaign
  if (campaign?.kind !== 'pre' || campaign.term !== m.campaignTerm) return
  addVote(state, m.from, m.granted)
}

export function onVote(state: State, m: MessageOf<'vote'>): void {
  const free =
    state.vote === m.from ||
    (state.vote === undefined && state.leader === undefined && state.role !== 'candidate')
  const granted = state.mayVote && free && state.log.isUpToDate(m.lastIndex, m.lastTerm)
  const { id: from, term, options } = state
  const reply = { type: 'voteReply', group: options.group, from, to: m.from, term, granted } as const
  if (!granted) return state.send(reply)
  if (state.vote === undefined) {
    state.vote = m.from
    state.disk.noteHardState()
  }
  resetElectionTimer(state)
  state.disk.promiseHardState(reply)
}

export function onVoteReply(state: State, m: MessageOf<'voteReply'>): void {
  if (state.campaign?.kind === 'real') addVote(state, m.from, m.granted)
}

/** Counts the first answer of each voter. Later answers of the same voter change nothing. */
function addVote(state: State, from: MemberId, granted: boolean): void {
  const votes = state.campaign?.votes
  if (votes === undefined || votes.has(from)) return
  votes.set(from, granted)
  countVotes(state)
}

/**
 * Called when the leader transfers its leadership to this member. This member campaigns without a pre-vote.
 * Its vote requests carry `transfer`, so that the other members vote although their leader is alive.
 */
export function onTimeoutNow(state: State, m: MessageOf<'timeoutNow'>): void {
  if (m.term === state.term && m.from === state.leader && mayCampaign(state)) startCampaign(state, 'transfer')
}

/**
 * Called when the leader's process has ended. From now on the dead leader is no reason to refuse candidates.
 * This member starts an election after a short wait, at most once in each term. If that election fails, the
 * ordinary timeout applies.
 */
export function onLeaderGone(state: State, id: MemberId, term: number): void {
  if (state.role === 'leader' || id !== state.leader || term !== state.term || state.goneTerm >= term) return
  state.goneTerm = term
  state.leaderMessageAt = Number.NEGATIVE_INFINITY
  state.electionAt = state.clock + fastWait(state, votersBut(state.membership, id))
  state.electionReason = 'leader_ended'
}

/**
 * Called when it is clear that this member did not lose its disk (wiped-member-check.ts). From now on this
 * member may vote. If its log is empty, the cluster is new and has no leader, so this member does not wait
 * for an election timeout.
 */
export function onVotingAllowed(state: State): void {
  state.mayVote = true
  if (state.leader !== undefined || state.log.lastIndex > 0) return
  state.electionAt = Math.min(state.electionAt, state.clock + fastWait(state, state.membership.voters))
  state.electionReason = 'new_cluster'
}

/**
 * Returns how many ms this voter waits before it starts an election without an election timeout. If two
 * voters started in the same millisecond, each would vote for itself, and both would lose. So the voters
 * start in different slots, by the order of their ids. With more than FAST_SLOTS voters, some share a slot.
 */
function fastWait({ id, options, random }: State, voters: readonly MemberId[]): number {
  const place = Math.max(0, voters.indexOf(id)) % FAST_SLOTS
  return Math.floor(place * options.fastDelay) + random.between(0, Math.ceil(options.fastDelay / 2))
}

const otherVoters = (state: State): MemberId[] => votersBut(state.membership, state.id)
