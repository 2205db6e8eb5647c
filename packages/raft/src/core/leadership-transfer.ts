// Rule: transfers the leadership to another voter.
//
// Laws
//   - when the target has the leader's whole log, the leader asks the target to campaign. Before that, the
//     leader waits, and proposes no new entries.
//   - the leader gives up after an election timeout. So a dead or slow target stops writes for an election
//     timeout at most (E17).

import type { Progress } from './progress.js'
import type { Leading, State } from './state.js'
import type { MemberId } from './types.js'

/**
 * Starts a transfer to `to`. If `to` is undefined, the target is the member with the longest matching log.
 */
export function transfer(state: State, to: MemberId | undefined): void {
  const leading = state.leading
  if (leading === undefined) return
  const target = to === undefined ? furthest(state, leading) : leading.byId.get(to)
  if (target === undefined || !state.membership.voters.includes(target.id)) return
  if (leading.transfer?.to === target.id) return
  leading.transfer = { to: target.id, until: state.clock + state.options.electionTimeout, asked: false }
}

function furthest(state: State, { peers }: Leading): Progress | undefined {
  let best: Progress | undefined
  for (const peer of peers) {
    if (!state.membership.voters.includes(peer.id) || peer.state === 'refused') continue
    if (state.clock - peer.answeredAt >= state.options.electionTimeout) continue
    if (best === undefined || peer.match > best.match) best = peer
  }
  return best
}

export function pumpTransfer(state: State): void {
  const { transfer, byId } = state.leading as Leading
  if (transfer === undefined || transfer.asked) return
  if (byId.get(transfer.to)?.match !== state.log.lastIndex) return
  transfer.asked = true
  tell(state, transfer.to)
}

/**
 * Asks the member with the longest matching log to campaign, even if that log lacks some entries. The leader
 * cannot wait for these entries, because it steps down now.
 */
export function sendTimeoutNow(state: State): void {
  const target = furthest(state, state.leading as Leading)
  if (target !== undefined) tell(state, target.id)
}

function tell(state: State, to: MemberId): void {
  const { id: from, term, options } = state
  if (state.leading !== undefined) state.leading.targetAsked = true
  state.send({ type: 'timeoutNow', group: options.group, from, to, term })
}

export function transferTick(state: State, leading: Leading): void {
  if (leading.transfer !== undefined && state.clock >= leading.transfer.until) leading.transfer = undefined
}
