// Rule: how a follower receives a snapshot.
//
// Laws
//   - a snapshot whose position is already in this log changes nothing. The answer says how far this log
//     agrees with the leader's log (S1).
//   - a snapshot that contradicts a committed entry is an error that stops the member (S2).
//   - pieces are accepted in order, from one sender and of one snapshot. The answer to any other piece says
//     how many bytes this member has.
//   - while a snapshot is installed, no entry is given out to be applied, and no other snapshot begins (S3,
//     S16).
//   - if the log has the entry at the snapshot's position, the entries after that position stay. Otherwise
//     all entries are dropped, and the log begins after that position, with the snapshot's membership (M14).

import { AssertionError, assert } from '@latchkey/base'
import { acknowledge, follow } from './follower.js'
import { adjustRole } from './role-changes.js'
import type { State } from './state.js'
import type { LogPosition, Membership, MessageOf } from './types.js'

export function onSnapshot(state: State, m: MessageOf<'snapshot'>): void {
  follow(state, m.from)
  const { position } = m
  checkAgainstCommitted(state, position)
  if (!state.rebuilding && isHere(state, position)) return tellHere(state, m.from, position)
  // If this log begins after the snapshot's position, the entries between the snapshot and the log would be
  // missing. So this member does not take the snapshot. The next heartbeat makes this member ask for a newer
  // snapshot.
  if (position.index < state.log.start.index) return
  const staging = stagingFor(state, m)
  if (staging === undefined) return reply(state, m.from, position, 0, false)
  if (staging.installing || m.offset !== staging.offset) {
    return reply(state, m.from, staging.position, staging.offset, false)
  }
  const { from, membership, offset, chunk, done } = m
  state.out.push({ type: 'stageSnapshot', from, position, membership, offset, chunk, done })
  staging.offset += chunk.length
  staging.at = state.clock
  staging.installing = done
  reply(state, m.from, position, staging.offset, false)
}

function checkAgainstCommitted(state: State, { index, term }: LogPosition): void {
  if (index > state.commit) return
  const here = state.log.termAt(index)
  if (here !== undefined && here !== term) {
    throw new AssertionError('a snapshot contradicts a committed entry (S2)')
  }
}

/**
 * True if the log has the entry at the snapshot's position. Then the snapshot is not needed. A snapshot has
 * only committed entries, so this function also moves the commit index.
 */
function isHere(state: State, { index, term }: LogPosition): boolean {
  if (index > state.commit && !state.log.matches(index, term)) return false
  if (index > state.commit) state.commit = index
  state.matched = Math.max(state.matched, state.commit)
  state.ackOwed = true
  return true
}

function tellHere(state: State, to: string, position: LogPosition): void {
  acknowledge(state, true)
  if (state.disk.hardStateDurable && state.disk.durable >= position.index) reply(state, to, position, 0, true)
}

/**
 * Returns the transfer to which the piece belongs, or undefined. While a snapshot is being installed, returns
 * its transfer for every piece. A first piece begins a new transfer.
 */
function stagingFor(state: State, m: MessageOf<'snapshot'>): State['staging'] {
  const { staging } = state
  if (staging?.installing) return staging
  const { index, term } = m.position
  const same = staging?.from === m.from && staging.position.index === index && staging.position.term === term
  if (same && (m.offset > 0 || staging.offset === 0)) return staging
  if (m.offset !== 0) return same ? staging : undefined
  state.staging = {
    from: m.from,
    position: m.position,
    membership: m.membership,
    offset: 0,
    at: state.clock,
    installing: false,
  }
  return state.staging
}

function reply(state: State, to: string, position: LogPosition, offset: number, installed: boolean): void {
  const { id: from, term, options } = state
  const { group } = options
  state.send({ type: 'snapshotReply', group, from, to, term, position, offset, installed })
}

/**
 * Called when the driver has installed the snapshot durably. The next entry to apply is the entry after the
 * snapshot.
 */
export function onInstalled(state: State, position: LogPosition, membership: Membership): void {
  state.staging = undefined
  checkAgainstCommitted(state, position)
  assert(position.index >= state.log.start.index, 'an installed snapshot lies before the log')
  state.rebuilding = false
  if (state.log.matches(position.index, position.term)) {
    state.commit = Math.max(state.commit, position.index)
    state.disk.noteSnapshot(position.index)
  } else restartBehind(state, position, membership)
  state.handedOut = position.index
  state.applied = position.index
  // A snapshot contains only committed entries, so each later leader's log agrees with it.
  state.matched = Math.max(state.matched, Math.min(position.index, state.log.lastIndex))
  tellInstalled(state, position)
}

function restartBehind(state: State, position: LogPosition, membership: Membership): void {
  assert(position.index > state.commit, 'an installed snapshot would take back what is committed (S2)')
  state.log.restart(position)
  state.disk.noteRestart(position, membership)
  state.configs.restart(position.index, membership)
  state.commit = position.index
  state.matched = 0
  state.ackOwed = false
  adjustRole(state)
}

function tellInstalled(state: State, position: LogPosition): void {
  const { id: from, term, options, leader: to } = state
  if (to === undefined || state.role === 'leader') return
  const { group } = options
  const message = {
    type: 'snapshotReply',
    group,
    from,
    to,
    term,
    position,
    offset: 0,
    installed: true,
  } as const
  state.disk.promiseAll(message)
}

/** Called when the snapshot could not be installed. The next attempt begins at the first byte (S14). */
export function onInstallFailed(state: State): void {
  const { staging, leader } = state
  state.staging = undefined
  if (staging !== undefined && leader !== undefined) reply(state, leader, staging.position, 0, false)
}
