// Rule: linearizable reads without a log entry (ReadIndex in Raft's thesis).
//
// Laws
//   - reads are confirmed in rounds: the leader sends heartbeats with the round's number, and a quorum
//     answers. The index of a read is the leader's commit index at the beginning of its round. A round begins
//     only after the leader has committed an entry of its own term (R1).
//   - only answers to messages that were sent after the beginning of a round confirm the round. So each
//     message carries the number of the current round. A read that arrives during a round waits for the next
//     round (R3, R5).
//   - a read that this member forwards to the leader gets a number that this core has never used before. Only
//     answers of the current term count (R7).
//   - a leader that has asked a transfer's target to campaign confirms no new reads (E18).

import { sendHeartbeat } from './heartbeat.js'
import { votersBut } from './membership.js'
import { quorumValue } from './quorum.js'
import type { Leading, State } from './state.js'
import type { MemberId, MessageOf } from './types.js'

/**
 * How many read rounds may wait for a quorum's answers at the same time. Later reads share the next round.
 */
const MAX_ROUNDS = 4

export function read(state: State, context: number): void {
  if (state.leading !== undefined) return addRead(state, state.leading, state.id, context)
  if (state.leader === undefined) return answerSelf(state, context, undefined, 0)
  const wire = state.nextContext++
  state.forwarded.set(wire, { context, until: state.clock + state.options.electionTimeout })
  const { id: from, leader: to, term, options } = state
  state.send({ type: 'readIndex', group: options.group, from, to, term, context: wire })
}

export function onReadIndex(state: State, m: MessageOf<'readIndex'>): void {
  if (state.leading !== undefined) addRead(state, state.leading, m.from, m.context)
  else answer(state, m.from, m.context, undefined, 0)
}

function addRead(state: State, leading: Leading, from: MemberId, context: number): void {
  const time = leading.clock.read(state.now)
  if (leading.transfer?.asked) answer(state, from, context, undefined, 0)
  else leading.readsWaiting.push({ from, context, time })
}

export function pumpReads(state: State): void {
  const leading = state.leading as Leading
  if (leading.readsWaiting.length === 0 || leading.rounds.length >= MAX_ROUNDS) return
  if (state.commit < leading.firstIndex) return
  leading.rounds.push({ round: ++leading.round, index: state.commit, requests: leading.readsWaiting })
  leading.readsWaiting = []
  for (const id of votersBut(state.membership, state.id)) {
    const peer = leading.byId.get(id)
    if (peer !== undefined) sendHeartbeat(state, peer)
  }
  confirmReads(state)
}

export function confirmReads(state: State): void {
  const leading = state.leading as Leading
  if (leading.rounds.length === 0) return
  const confirmed = quorumValue(state.membership, leading.roundOf)
  while (leading.rounds[0] !== undefined && leading.rounds[0].round <= confirmed) {
    const round = leading.rounds.shift()
    for (const { from, context, time } of round?.requests ?? []) {
      answer(state, from, context, round?.index, time)
    }
  }
}

function answer(state: State, to: MemberId, context: number, index: number | undefined, time: number): void {
  if (to === state.id) return answerSelf(state, context, index, time)
  const { id: from, term, options } = state
  state.send({ type: 'readIndexReply', group: options.group, from, to, term, context, index, time })
}

function answerSelf(state: State, context: number, index: number | undefined, time: number): void {
  state.out.push({ type: 'read', context, index, time })
}

export function onReadIndexReply(state: State, m: MessageOf<'readIndexReply'>): void {
  const forwarded = state.forwarded.get(m.context)
  if (forwarded === undefined || m.from !== state.leader) return
  state.forwarded.delete(m.context)
  answerSelf(state, forwarded.context, m.index, m.time)
}

export function failForwarded(state: State): void {
  for (const { context } of state.forwarded.values()) answerSelf(state, context, undefined, 0)
  state.forwarded.clear()
}

export function expireForwarded(state: State): void {
  for (const [wire, { context, until }] of state.forwarded) {
    if (state.clock < until) return
    state.forwarded.delete(wire)
    answerSelf(state, context, undefined, 0)
  }
}

export function endLeadershipReads(state: State): void {
  const leading = state.leading as Leading
  const requests = [...leading.rounds.flatMap((round) => round.requests), ...leading.readsWaiting]
  for (const { from, context } of requests) answer(state, from, context, undefined, 0)
}
