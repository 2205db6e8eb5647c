// Rule: how a follower copies the leader's log.
//
// Laws
//   - a term has one leader. A leader that receives an append, a heartbeat or a snapshot of its own term from
//     another member throws an error (E22).
//   - an entry is removed only if it is not committed, and only from the first conflict on (L3, L4).
//   - this member's commit index grows only up to the index at which its log is known to agree with the
//     leader's log (L2).
//   - an acknowledgement covers only entries that agree with the leader's log and are durable (L5).

import { AssertionError, assert } from '@latchkey/base'
import { noteLeaderMessage } from './election.js'
import { decodeMembership } from './membership.js'
import { adjustRole, becomeFollower } from './role-changes.js'
import { type State, appendEntry } from './state.js'
import type { Entry, LeaderMessage, Membership, MessageOf } from './types.js'

export function follow(state: State, from: string): void {
  assert(state.role !== 'leader', 'another member leads the own term (E22)')
  assert(state.leader === undefined || state.leader === from, 'two members lead one term (E22)')
  if (state.leader !== from || state.campaign !== undefined) becomeFollower(state, state.term, from)
  noteLeaderMessage(state)
}

export function onAppend(state: State, m: MessageOf<'append'>): void {
  follow(state, m.from)
  if (!agreesAt(state, m.prevIndex, m.prevTerm)) return reject(state, m)
  takeEntries(state, m.entries)
  // The log agrees with the leader's log at least up to this member's commit index, because each later leader
  // has all committed entries.
  state.matched = Math.max(state.matched, m.prevIndex + m.entries.length, state.commit)
  if (m.round > state.ackRound) state.ackRound = m.round
  state.ackOwed = true
  followCommit(state, m.commit)
}

function agreesAt(state: State, index: number, term: number): boolean {
  const here = state.log.termAt(index)
  if (index > state.commit) return here === term
  if (here !== undefined && here !== term) throw new AssertionError('a leader lacks a committed entry (L4)')
  return true
}

function reject(state: State, m: MessageOf<'append'>): void {
  const hint = state.log.lastNotAbove(m.prevIndex, m.prevTerm)
  const { id: from, term, options } = state
  state.send({
    type: 'appendReply',
    group: options.group,
    from,
    to: m.from,
    term,
    ok: false,
    rejected: m.prevIndex,
    hintIndex: hint.index,
    hintTerm: hint.term,
    round: m.round,
  })
}

function takeEntries(state: State, entries: readonly Entry[]): void {
  const { log } = state
  for (const entry of entries) {
    if (entry.index <= log.lastIndex) {
      const here = log.termAt(entry.index)
      if (here === undefined || here === entry.term) continue
      cut(state, entry.index)
    }
    appendEntry(state, entry)
    if (entry.kind === 'members') {
      // message-checks.ts has decoded the same bytes before, so decodeMembership cannot fail here.
      state.configs.append(entry.index, decodeMembership(entry.data) as Membership)
      adjustRole(state)
    }
  }
}

function cut(state: State, from: number): void {
  assert(from > state.commit, 'a truncation below the commit index (L4)')
  state.log.truncate(from)
  state.disk.noteTruncate(from)
  state.configs.truncate(from)
  adjustRole(state)
}

function followCommit(state: State, leaderCommit: number): void {
  const commit = Math.min(leaderCommit, state.matched)
  if (commit > state.commit) state.commit = commit
}

export function onHeartbeat(state: State, m: MessageOf<'heartbeat'>): void {
  follow(state, m.from)
  followCommit(state, m.commit)
  const { id: from, term, options, disk } = state
  const match = Math.min(state.matched, disk.durable)
  const { group } = options
  const reply = { type: 'heartbeatReply', group, from, to: m.from, term, round: m.round, match } as const
  if (disk.hardStateDurable) state.send(reply)
  else disk.promiseHardState(reply)
  if (state.rebuilding && !isReceiving(state)) askForSnapshot(state, m.from)
}

function isReceiving({ staging, clock, options }: State): boolean {
  return staging !== undefined && (staging.installing || clock - staging.at < 2 * options.electionTimeout)
}

/** Asks the leader for a snapshot. Position 0 means that the leader chooses the snapshot. */
function askForSnapshot(state: State, to: string): void {
  const { id: from, term, options } = state
  const position = { index: 0, term: 0, time: 0 }
  state.send({
    type: 'snapshotReply',
    group: options.group,
    from,
    to,
    term,
    position,
    offset: 0,
    installed: false,
  })
}

/**
 * Sends the acknowledgement that this member owes to the leader, up to the durable index. If some entries are
 * not durable yet, and `synced` is false, this function sends nothing. It is called again after their sync.
 * `synced` is true after a sync, and for a snapshot that this member does not need.
 */
export function acknowledge(state: State, synced: boolean): void {
  if (!state.ackOwed || state.leader === undefined || !state.disk.hardStateDurable) return
  const match = Math.min(state.matched, state.disk.durable)
  if (match < state.matched && !synced) return
  state.ackOwed = match < state.matched
  const { id: from, term, options, leader: to, ackRound: round } = state
  state.send({ type: 'appendReply', group: options.group, from, to, term, ok: true, match, round })
}

/**
 * Answers a leader of an older term. The answer carries the newer term, so that the old leader steps down.
 */
export function refuseOldLeader(state: State, m: LeaderMessage): void {
  const { id: from, term, options } = state
  const reply = {
    type: 'heartbeatReply',
    group: options.group,
    from,
    to: m.from,
    term,
    round: 0,
    match: 0,
  } as const
  if (state.disk.hardStateDurable) state.send(reply)
  else state.disk.promiseHardState(reply)
}
