// Rule: checks the laws of the core. Some checks look at one state, and others compare the states before and
// after a call of the core. Tests and the simulator run these checks after each call. A check costs a loop
// over the members.

import { elementAt, assert } from '@latchkey/base'
import { isMember, whyInvalid } from './membership.js'
import type { Progress } from './progress.js'
import type { Raft } from './raft.js'
import type { Leading, State } from './state.js'
import type { MemberId, Role } from './types.js'

export function checkInvariants({ state }: { readonly state: State }): void {
  checkLog(state)
  checkRole(state)
  checkMembership(state)
  if (state.leading !== undefined) checkLeading(state, state.leading)
}

/** Checks start <= applied <= handed out <= commit <= last, and handed out <= durable <= last. */
function checkLog(state: State): void {
  const { log, disk, term, applied, handedOut, commit } = state
  assert(log.start.index <= applied, 'the log begins beyond what is applied (S5)')
  assert(applied <= handedOut, 'applied what was not handed out')
  assert(handedOut <= commit, 'handed out what is not committed')
  assert(commit <= log.lastIndex, 'committed beyond the log')
  assert(handedOut <= disk.durable, 'handed out what is not durable here')
  assert(disk.durable <= log.lastIndex, 'durable beyond the log')
  assert(log.last.term <= term, 'the log is ahead of the term')
  assert(state.matched <= log.lastIndex, 'agrees beyond the log')
}

function checkRole(state: State): void {
  const { role, id, term, vote, leader, campaign } = state
  assert(
    (role === 'leader') === (state.leading !== undefined),
    'leads without being leader, or the other way round',
  )
  assert((role === 'leader') === (leader === id), 'holds itself for the leader, or does not')
  if (role === 'leader' || role === 'candidate') assert(vote === id, 'leads or asks without its own vote')
  if (role === 'candidate')
    assert(campaign?.kind === 'real' && campaign.term === term, 'a candidate without a campaign')
  if (campaign?.kind === 'pre')
    assert(
      campaign.term === term + 1 && role !== 'leader' && role !== 'candidate',
      'a pre-vote for another term',
    )
  if (role === 'learner') assert(!state.votes, 'a voter rests as learner')
  if (role === 'follower') assert(state.votes, 'a learner rests as voter')
  if (campaign !== undefined) assert(state.stands, 'a learner asks for votes (E14)')
}

function checkMembership({ membership, configs, log, votes }: State): void {
  assert(configs.index <= log.lastIndex, 'a configuration outlives its entry (M2)')
  // A new member has no membership until it has received the first membership entry.
  if (membership.voters.length === 0 && !votes) return
  assert(whyInvalid(membership) === undefined, 'the configuration in force is none (M18)')
}

function checkLeading(state: State, leading: Leading): void {
  const { log, commit, membership } = state
  const { peers, byId } = leading
  assert(
    log.termAt(leading.firstIndex) === state.term || log.start.index >= leading.firstIndex,
    'no entry of its own',
  )
  assert(leading.uncommittedBytes === log.bytesAfter(commit), 'uncommitted bytes are miscounted (L14)')
  assert(peers.length === byId.size, 'a peer is listed twice or not at all')
  for (const [i, peer] of peers.entries()) {
    assert(i === 0 || elementAt(peers, i - 1).id < peer.id, 'peers are out of order')
    assert(peer.leaving !== undefined || isMember(membership, peer.id), 'sends to a stranger')
    checkProgress(state, peer)
  }
  let last = 0
  for (const { round, index } of leading.rounds) {
    assert(round > last && round <= leading.round && index <= commit, 'a read round out of order (R3)')
    last = round
  }
  if (leading.transfer !== undefined) assert(leading.transfer.to !== state.id, 'hands over to itself')
}

function checkProgress({ log, options }: State, peer: Progress): void {
  assert(peer.match < peer.next, 'next does not lie beyond match (L9)')
  assert(peer.next <= log.lastIndex + 1, 'sent beyond the log')
  assert(peer.window.count <= options.maxInflight, 'more appends under way than allowed (L18)')
  assert(peer.window.count === 0 || peer.state === 'replicate', 'appends under way while not replicating')
  const asked = peer.snapshot?.asked
  assert(
    peer.state === 'snapshot' ? asked === false : asked !== false,
    'a snapshot under way in another state',
  )
}

interface Footprint {
  readonly role: Role
  readonly term: number
  readonly vote: MemberId | undefined
  readonly commit: number
  readonly commitTerm: number | undefined
  readonly start: number
  readonly lastIndex: number
  readonly lastTerm: number
  readonly matches: ReadonlyMap<MemberId, number>
}

export function footprint({ state }: Pick<Raft, 'state'>): Footprint {
  const { role, term, vote, commit, log } = state
  return {
    role,
    term,
    vote,
    commit,
    commitTerm: log.termAt(commit),
    start: log.start.index,
    lastIndex: log.lastIndex,
    lastTerm: log.last.term,
    matches: new Map(state.leading?.peers.map((peer) => [peer.id, peer.match])),
  }
}

export function checkStep(before: Footprint, after: { readonly state: State }): void {
  const { state } = after
  const { term, vote, commit, log } = state
  assert(term >= before.term, 'the term goes back')
  if (term === before.term && before.vote !== undefined)
    assert(vote === before.vote, 'a second vote in one term (E3)')
  assert(commit >= before.commit, 'the commit index goes back')
  assert(log.start.index >= before.start, 'the start of the log goes back')
  if (before.commit >= log.start.index) {
    assert(log.termAt(before.commit) === before.commitTerm, 'a committed entry has changed')
  }
  if (before.role === 'leader' && state.role === 'leader') checkLeaderStep(before, state)
}

function checkLeaderStep(before: Footprint, { term, log, leading, commit }: State): void {
  assert(term === before.term, 'a leader takes another term without stepping down')
  assert(log.lastIndex >= before.lastIndex, 'a leader cuts its own log')
  const lastTerm = log.termAt(before.lastIndex)
  assert(lastTerm === undefined || lastTerm === before.lastTerm, 'a leader changes its own log')
  if (commit > before.commit) assert(log.termAt(commit) === term, 'commits an older term by counting (L1)')
  for (const { id, match, leaving } of leading?.peers ?? []) {
    const known = before.matches.get(id)
    // The match index of a member that was removed and added again starts at 0.
    if (leaving === undefined && known !== undefined && match !== 0)
      assert(match >= known, 'match goes back (L9)')
  }
}
