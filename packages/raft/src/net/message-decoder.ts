// Door: decodes an item of a frame to a message, and checks every field. A returned text is the reason to
// refuse the item. Law: no later code checks the form of a message again. So this file must accept only valid
// terms and indexes.

import { elementAt } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { decodeMembership } from '../core/membership.js'
import type { Entry, MemberId, Message, MessageType } from '../core/types.js'
import { KINDS, TYPE } from './message-encoder.js'

/** The blobs are byte strings, such as the data of an entry or a piece of a snapshot. */
export interface Parcel {
  readonly item: readonly unknown[]
  readonly blobs: readonly Uint8Array[]
}

interface Envelope {
  readonly group: number
  readonly from: MemberId
  readonly to: MemberId
  readonly term: number
}

type Fields = readonly unknown[]
type Reader = (envelope: Envelope, fields: Fields, blobs: readonly Uint8Array[]) => Message | string

/**
 * Law: this file accepts only numbers that all later code can handle. The index of an entry can become the id
 * of a session, which has at most 48 bits. So the limit is CAPS.memberNumber, which is 2^48 - 1.
 */
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= CAPS.memberNumber
/**
 * True for the context of a read request, which the leader's answer repeats. The first context is a random
 * number (core/state.ts), so CAPS.memberNumber is not its limit.
 */
const isContext = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const areCounts = (fields: Fields, from: number, to: number): boolean => {
  if (fields.length < to) return false
  for (let i = from; i < to; i++) if (!isCount(fields[i])) return false
  return true
}
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean'

const ANY = -1
/**
 * How many elements of an item come before the fields of the message: type, lengths of blobs, group, term.
 */
const HEAD = 4

/**
 * Returns undefined for a message type that this version does not know. The caller ignores the message (L22).
 */
export function toMessage(
  { item, blobs }: Parcel,
  from: MemberId,
  to: MemberId,
): Message | string | undefined {
  const row = ROWS.get(item[0] as number)
  if (row === undefined) return undefined
  const [, , group, term] = item
  if (!isCount(group)) return 'a group is no number'
  // A member that has never taken part in an election has term 0, and sends only answers to pre-votes (E19).
  if (!isCount(term) || (term === 0 && row.type !== 'preVoteReply')) return 'a term is out of range'
  if (item.length !== HEAD + row.places && row.type !== 'appendReply')
    return `${row.type} has a wrong number of places`
  if (row.blobs !== ANY && blobs.length !== row.blobs) return `${row.type} has a wrong number of byte values`
  return row.read({ group, from, to, term }, item.slice(HEAD), blobs)
}

interface Row {
  readonly type: MessageType
  readonly places: number
  readonly blobs: number
  readonly read: Reader
}

const row = (type: MessageType, places: number, read: Reader, blobs = 0): [number, Row] => [
  TYPE[type],
  { type, places, blobs, read },
]

const ROWS: ReadonlyMap<number, Row> = new Map([
  row('preVote', 2, (envelope, [lastIndex, lastTerm]) => {
    if (!isCount(lastIndex) || !isCount(lastTerm)) return 'preVote: a log position is no number'
    return { ...envelope, type: 'preVote', lastIndex, lastTerm }
  }),
  row('preVoteReply', 2, (envelope, [granted, campaignTerm]) => {
    if (!isFlag(granted) || !isCount(campaignTerm)) return 'preVoteReply: a field is wrong'
    return { ...envelope, type: 'preVoteReply', granted, campaignTerm }
  }),
  row('vote', 3, (envelope, [lastIndex, lastTerm, transfer]) => {
    if (!isCount(lastIndex) || !isCount(lastTerm) || !isFlag(transfer)) return 'vote: a field is wrong'
    return { ...envelope, type: 'vote', lastIndex, lastTerm, transfer }
  }),
  row('voteReply', 1, (envelope, [granted]) =>
    isFlag(granted) ? { ...envelope, type: 'voteReply', granted } : 'voteReply: a field is wrong',
  ),
  row('append', 5, readAppend, ANY),
  row('appendReply', 3, readAppendReply),
  row('heartbeat', 2, (envelope, [commit, round]) => {
    if (!isCount(commit) || !isCount(round)) return 'heartbeat: a field is wrong'
    return { ...envelope, type: 'heartbeat', commit, round }
  }),
  row('heartbeatReply', 2, (envelope, [round, match]) => {
    if (!isCount(round) || !isCount(match)) return 'heartbeatReply: a field is wrong'
    return { ...envelope, type: 'heartbeatReply', round, match }
  }),
  row('storedByAll', 1, (envelope, [index]) =>
    isCount(index) ? { ...envelope, type: 'storedByAll', index } : 'storedByAll: a field is wrong',
  ),
  row('snapshot', 5, readSnapshot, 2),
  row('snapshotReply', 5, (envelope, [index, term, time, offset, installed]) => {
    if (!isCount(index) || !isCount(term) || !isCount(time) || !isCount(offset) || !isFlag(installed))
      return 'snapshotReply: a field is wrong'
    return { ...envelope, type: 'snapshotReply', position: { index, term, time }, offset, installed }
  }),
  row('timeoutNow', 0, (envelope) => ({ ...envelope, type: 'timeoutNow' })),
  row('readIndex', 1, (envelope, [context]) =>
    isContext(context) ? { ...envelope, type: 'readIndex', context } : 'readIndex: a field is wrong',
  ),
  row('readIndexReply', 3, (envelope, [context, index, time]) => {
    if (!isContext(context) || !isCount(time) || (index !== null && !isCount(index)))
      return 'readIndexReply: a field is wrong'
    return { ...envelope, type: 'readIndexReply', context, index: index ?? undefined, time }
  }),
])

// These functions run for every commit, so their objects list all fields one by one. V8 takes five times as
// long for an object with a spread.
function readAppendReply(envelope: Envelope, f: Fields): Message | string {
  const [ok, round, match, hintIndex, hintTerm] = f
  if (!isFlag(ok)) return 'appendReply: a field is wrong'
  if (f.length !== (ok ? 3 : 5)) return 'appendReply has a wrong number of places'
  if (!isCount(round) || !isCount(match)) return 'appendReply: a field is wrong'
  const { group, from, to, term } = envelope
  const type = 'appendReply'
  if (ok) return { group, from, to, term, type, round, ok, match }
  if (!isCount(hintIndex) || !isCount(hintTerm)) return 'appendReply: a field is wrong'
  return { group, from, to, term, type, round, ok, rejected: match, hintIndex, hintTerm }
}

function readSnapshot(envelope: Envelope, f: Fields, blobs: readonly Uint8Array[]): Message | string {
  const [index, term, time, offset, done] = f
  if (!isCount(index) || !isCount(term) || !isCount(time) || !isCount(offset) || !isFlag(done))
    return 'snapshot: a field is wrong'
  const membership = decodeMembership(elementAt(blobs, 0))
  if (membership === undefined) return 'snapshot: its members are no configuration'
  return {
    ...envelope,
    type: 'snapshot',
    position: { index, term, time },
    membership,
    offset,
    chunk: elementAt(blobs, 1),
    done,
  }
}

function readAppend(envelope: Envelope, f: Fields, blobs: readonly Uint8Array[]): Message | string {
  const heads = f[4]
  if (!areCounts(f, 0, 4) || !Array.isArray(heads)) return 'append: a field is wrong'
  const [prevIndex, prevTerm, commit, round] = f as [number, number, number, number]
  const entries = readEntries(prevIndex, prevTerm, envelope.term, heads, blobs)
  if (typeof entries === 'string') return entries
  const { group, from, to, term } = envelope
  return { group, from, to, term, type: 'append', prevIndex, prevTerm, commit, entries, round }
}

/**
 * The entries' terms must not decrease, and no entry may have a higher term than the leader that sends it
 * (L17).
 */
function readEntries(
  prevIndex: number,
  prevTerm: number,
  most: number,
  heads: Fields,
  blobs: readonly Uint8Array[],
): Entry[] | string {
  if (heads.length !== blobs.length * 3) return 'append: entries and their bytes do not match'
  if (!isCount(prevIndex + blobs.length)) return 'append: an index is out of range'
  const entries: Entry[] = []
  let least = prevTerm
  for (const [i, data] of blobs.entries()) {
    const term = heads[3 * i]
    const time = heads[3 * i + 1]
    const code = heads[3 * i + 2]
    const kind = isCount(code) ? KINDS[code] : undefined
    if (!isCount(term) || term < least || term > most || term === 0)
      return "append: an entry's term is out of order"
    if (!isCount(time) || kind === undefined) return 'append: an entry is wrong'
    entries.push({ index: prevIndex + 1 + i, term, time, kind, data })
    least = term
  }
  return entries
}
