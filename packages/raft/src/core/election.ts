// Rule: who may lead. Pre-vote, votes, stickiness, and the fast way when the leader's process is known to be gone.
//
// Laws
//   - one vote a term, durable before it is told, one's own included (E1, E4, E21)
//   - no vote for a log that is behind (E5); a pre-vote binds nobody and changes no term
//   - whoever has heard a leader within an election timeout refuses all others (stickiness: E10, E12, E13), unless that leader
//     asked for the election itself (transfer), or its end was seen here (leaderGone), once a term
//   - a round that fails waits for a whole randomised timeout before the next (E20)

import { votersBut } from './membership.js'
import { tally } from './quorum.js'
import { becomeFollower, becomeLeader, resetElectionTimer } from './roles.js'
import type { State } from './state.js'
import type { MemberId, Message } from './types.js'

/** Enough that neighbours in order do not meet, few enough that the last does not wait for as long as an election timeout. */
const FAST_SLOTS = 8

type Of<Type extends Message['type']> = Extract<Message, { type: Type }>

/** E14: only a voter may lead, and not while its state is being swapped. */
export function mayCampaign(state: State): boolean {
  return state.stands && state.mayVote && state.staging?.installing !== true
}

/** Its leader is alive as far as this member knows. */
export function isSticky(state: State): boolean {
  if (state.role === 'leader') return true
  return state.leader !== undefined && state.clock - state.leaderHeardAt < state.options.electionTimeout
}

export function heardLeader(state: State): void {
  state.leaderHeardAt = state.clock
  resetElectionTimer(state)
}

export function electionTick(state: State): void {
  if (!state.timers.due(state.electionAt)) return
  if (!mayCampaign(state)) {
    becomeFollower(state, state.term, undefined)
    resetElectionTimer(state)
  } else if (state.options.preVote) startPreVote(state)
  else startCampaign(state, false)
}

function startPreVote(state: State): void {
  becomeFollower(state, state.term, undefined)
  resetElectionTimer(state)
  const term = state.term + 1
  state.campaign = { kind: 'pre', term, votes: new Map([[state.id, true]]) }
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

/** The requests wait for the own vote to be durable: what asks for a term has taken it (E4). */
export function startCampaign(state: State, transfer: boolean): void {
  becomeFollower(state, state.term + 1, undefined)
  resetElectionTimer(state)
  state.vote = state.id
  state.role = 'candidate'
  state.campaign = { kind: 'real', term: state.term, votes: new Map() }
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
      transfer,
    })
  }
}

/** The own vote counts once it is durable (E21). */
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
  else if (campaign.kind === 'pre') startCampaign(state, false)
  else becomeLeader(state)
}

export function onPreVote(state: State, m: Of<'preVote'>): void {
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

export function onPreVoteReply(state: State, m: Of<'preVoteReply'>): void {
  if (!m.granted && m.term > state.term) return becomeFollower(state, m.term, undefined)
  const campaign = state.campaign
  if (campaign?.kind !== 'pre' || campaign.term !== m.campaignTerm) return
  addVote(state, m.from, m.granted)
}

/** The message is of the own term: a higher one has been taken before, a lower one refused. */
export function onVote(state: State, m: Of<'vote'>): void {
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

export function onVoteReply(state: State, m: Of<'voteReply'>): void {
  if (state.campaign?.kind === 'real') addVote(state, m.from, m.granted)
}

/** The first word of a voter counts. */
function addVote(state: State, from: MemberId, granted: boolean): void {
  const votes = state.campaign?.votes
  if (votes === undefined || votes.has(from)) return
  votes.set(from, granted)
  countVotes(state)
}

/** The leader handed over: no pre-vote, and the requests say why (E14: a learner does not obey). */
export function onTimeoutNow(state: State, m: Of<'timeoutNow'>): void {
  if (m.term === state.term && m.from === state.leader && mayCampaign(state)) startCampaign(state, true)
}

/**
 * The leader's process is gone, as its closed connection tells. Clears the own stickiness, nobody else's, and counts once a
 * term; a word of that leader makes everything as before. After a failed fast round the ordinary timeout applies.
 */
export function onLeaderGone(state: State, id: MemberId, term: number): void {
  if (state.role === 'leader' || id !== state.leader || term !== state.term || state.goneTerm >= term) return
  state.goneTerm = term
  state.leaderHeardAt = Number.NEGATIVE_INFINITY
  state.electionAt = state.clock + fastWait(state, id)
}

/**
 * Two that see the end in the same millisecond would each vote for itself, and both would wait for a whole timeout. So the
 * voters left go by their place in order: half a slot of chance, then half a slot of silence in which the round can be won.
 */
function fastWait({ membership, id, options, random }: State, gone: MemberId): number {
  const place = Math.max(0, votersBut(membership, gone).indexOf(id)) % FAST_SLOTS
  return Math.floor(place * options.fastDelay) + random.between(0, Math.ceil(options.fastDelay / 2))
}

const otherVoters = (state: State): MemberId[] => votersBut(state.membership, state.id)
