// Rule: builds the list of effects at the end of each call of the core. The driver carries the effects out in
// this order:
//
//   1. role: who leads. Before an entry of another leader is applied, this member must tell the callers of
//      waiting commands that it no longer leads (L16).
//   2. persist: the batch for the disk. The disk writes while the messages travel. A message that promises
//      something durable waits in durable-before-send.ts until the write is done.
//   3. membership: the driver opens connections to new members before it sends. Otherwise the first message
//      to a new member would be lost.
//   4. send, read, stageSnapshot: messages, confirmed reads, and received pieces of a snapshot. Other members
//      and callers wait for these effects.
//   5. commit: the entries to apply. Applying can take long and causes further calls of the core, so it is
//      last.

import { acknowledge } from './follower.js'
import { finishLeading } from './leader.js'
import type { State } from './state.js'
import type { Effect } from './types.js'

const NOTHING: readonly Effect[] = []

export function finish(state: State, synced = false): readonly Effect[] {
  finishLeading(state)
  const batch = state.disk.flush(state.log, state)
  acknowledge(state, synced)
  const before: Effect[] = []
  const role = roleEffect(state)
  if (role !== undefined) before.push(role)
  if (batch !== undefined) before.push({ type: 'persist', batch })
  const members = membershipEffect(state)
  if (members !== undefined) before.push(members)
  const { out } = state
  const commit = commitEffect(state)
  if (commit !== undefined) out.push(commit)
  if (before.length === 0 && out.length === 0) return NOTHING
  state.out = []
  if (before.length === 0) return out
  for (const effect of out) before.push(effect)
  return before
}

function roleEffect(state: State): Effect | undefined {
  const { reported, role, term, leader } = state
  if (reported.role === role && reported.term === term && reported.leader === leader) return undefined
  reported.role = role
  reported.term = term
  reported.leader = leader
  return { type: 'role', role, term, leader }
}

/** Each membership is reported to the driver when it comes into force, and again when it is committed. */
function membershipEffect(state: State): Effect | undefined {
  const { reported, configs } = state
  const committed = configs.index <= state.commit
  if (reported.configIndex === configs.index && reported.configCommitted === committed) return undefined
  reported.configIndex = configs.index
  reported.configCommitted = committed
  return { type: 'membership', membership: configs.current, index: configs.index, committed }
}

/**
 * Tells the driver to apply the new committed entries that are durable on this member. While a snapshot is
 * being installed, no entries are applied (S3).
 */
function commitEffect(state: State): Effect | undefined {
  if (state.rebuilding || state.staging?.installing) return undefined
  const from = state.handedOut + 1
  const to = Math.min(state.commit, state.disk.durable)
  if (to < from) return undefined
  state.handedOut = to
  return { type: 'commit', from, to }
}
