// Door: checks each received message before the core handles it. Each line is one check, which returns the
// reason for a refusal (E19, L13, L17, M18).
//
// Requests are accepted from any sender, because a member whose log lags may not know the leader or the
// candidate. Answers are accepted only from members and from the leader. The handshake has proved the
// sender's id and its incarnation (the random id of its data directory). This file compares the incarnation
// with the membership (M13).

import { decodeMembership, whyInvalid } from './membership.js'
import type { Entry, LogPosition, MemberId, Membership, Message, MessageOf } from './types.js'

/** Larger terms and indexes are refused. So the sum of two of these numbers is exact in JavaScript. */
export const MAX_COUNT = 2 ** 52

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT

interface Receiver {
  readonly id: MemberId
  readonly group: number
  readonly membership: Membership
}

export function whyRefused(own: Receiver, m: Message, incarnation: string | undefined): string | undefined {
  if (m.group !== own.group) return 'another group'
  if (m.to !== own.id) return 'for another member'
  if (m.from === own.id) return 'from myself'
  if (typeof m.from !== 'string' || m.from === '') return 'from nobody'
  // A new member has term 0, and answers pre-votes in term 0.
  if (!isCount(m.term) || (m.term === 0 && m.type !== 'preVoteReply')) return 'no term'
  if (incarnation !== undefined && isStranger(own.membership, m.from, incarnation)) {
    return 'another incarnation'
  }
  return whyMalformed(m)
}

function isStranger(membership: Membership, from: MemberId, incarnation: string): boolean {
  const known = membership.peers[from]?.incarnation
  return known !== undefined && known !== '' && known !== incarnation
}

function whyMalformed(m: Message): string | undefined {
  switch (m.type) {
    case 'append':
      return whyAppend(m)
    case 'appendReply':
      if (m.ok === true) return counts(m.round, m.match)
      return flag(m.ok) ?? counts(m.round, m.rejected) ?? counts(m.hintIndex, m.hintTerm)
    case 'heartbeat':
      return counts(m.commit, m.round)
    case 'heartbeatReply':
      return counts(m.round, m.match)
    case 'storedByAll':
      return count(m.index)
    case 'preVote':
      return whyLog(m.lastIndex, m.lastTerm, m.term)
    case 'vote':
      return whyLog(m.lastIndex, m.lastTerm, m.term) ?? flag(m.transfer)
    case 'preVoteReply':
      return count(m.campaignTerm) ?? flag(m.granted)
    case 'voteReply':
      return flag(m.granted)
    case 'snapshot':
      return whySnapshot(m)
    case 'snapshotReply':
      return whyPosition(m.position) ?? count(m.offset) ?? flag(m.installed)
    case 'readIndex':
      return count(m.context)
    case 'readIndexReply':
      return counts(m.context, m.time) ?? (m.index === undefined ? undefined : count(m.index))
    case 'timeoutNow':
      return undefined
    default:
      return 'an unknown kind of message'
  }
}

const count = (value: unknown): string | undefined => (isCount(value) ? undefined : 'a number out of bounds')
const counts = (a: unknown, b: unknown): string | undefined => count(a) ?? count(b)
const flag = (value: unknown): string | undefined =>
  typeof value === 'boolean' ? undefined : 'neither yes nor no'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

function whyLog(index: unknown, logTerm: number, term: number): string | undefined {
  return counts(index, logTerm) ?? (logTerm > term ? 'a log from the future' : undefined)
}

function whyPosition(position: LogPosition): string | undefined {
  if (!isObject(position)) return 'no position'
  return counts(position.index, position.term) ?? count(position.time)
}

function whyAppend(m: MessageOf<'append'>): string | undefined {
  const wrong = whyLog(m.prevIndex, m.prevTerm, m.term) ?? counts(m.commit, m.round)
  if (wrong !== undefined) return wrong
  if (!Array.isArray(m.entries)) return 'no entries'
  let { prevIndex: index, prevTerm: term } = m
  let time = 0
  for (const entry of m.entries as readonly Entry[]) {
    if (!isObject(entry) || entry.index !== index + 1) return 'entries with a gap'
    if (!isCount(entry.term) || entry.term === 0 || entry.term < term) return 'terms that go back'
    if (entry.term > m.term) return 'an entry from the future'
    if (!isCount(entry.time) || entry.time < time) return 'times that go back'
    const bad = whyEntry(entry)
    if (bad !== undefined) return bad
    index = entry.index
    term = entry.term
    time = entry.time
  }
  return undefined
}

function whyEntry({ kind, data }: Entry): string | undefined {
  if (kind !== 'empty' && kind !== 'commands' && kind !== 'members') return 'an unknown kind of entry'
  if (!(data instanceof Uint8Array)) return 'an entry without data'
  if (kind === 'members' && decodeMembership(data) === undefined) return 'a configuration that is none'
  return undefined
}

function whySnapshot(m: MessageOf<'snapshot'>): string | undefined {
  const wrong = whyPosition(m.position) ?? count(m.offset) ?? flag(m.done)
  if (wrong !== undefined) return wrong
  if (m.position.index === 0 || m.position.term === 0) return 'a snapshot of nothing'
  if (m.position.term > m.term) return 'a snapshot from the future'
  if (!(m.chunk instanceof Uint8Array)) return 'a piece without data'
  return isObject(m.membership) ? whyInvalid(m.membership) : 'no configuration'
}
