// Rule: encodes a message as an item of a frame: [type, lengths of its blobs, ...fields]. Blobs (entries'
// data, pieces of a snapshot) follow after all items and are not packed. So a build can skip a message of a
// type that it does not know.

import { assert } from '@latchkey/base'
import { encodeMembership } from '../core/membership.js'
import type { Entry, EntryKind, MessageType, Message } from '../core/types.js'

/**
 * The first element of an item is the type of the message. New types are only added at the end. Type 0 is a
 * message of the layer above, whose content this layer does not know.
 */
export const APP = 0
export const TYPE: Record<MessageType, number> = {
  preVote: 1,
  preVoteReply: 2,
  vote: 3,
  voteReply: 4,
  append: 5,
  appendReply: 6,
  heartbeat: 7,
  heartbeatReply: 8,
  snapshot: 9,
  snapshotReply: 10,
  timeoutNow: 11,
  readIndex: 12,
  readIndexReply: 13,
}

/** New kinds are only added at the end. */
export const KINDS: readonly EntryKind[] = ['empty', 'commands', 'members']

/**
 * In bytes, the most that an item takes without its blobs. A number takes up to nine bytes, and the length of
 * a blob five.
 */
const ITEM_BYTES = 128
const ENTRY_BYTES = 32

/** Returns at least as many bytes as the message takes in a frame. */
export function weight(message: Message): number {
  if (message.type === 'append') {
    let sum = ITEM_BYTES
    for (const entry of message.entries) sum += entry.data.length + ENTRY_BYTES
    return sum
  }
  if (message.type !== 'snapshot') return ITEM_BYTES
  return ITEM_BYTES + message.chunk.length + encodeMembership(message.membership).length
}

export const appWeight = (bytes: Uint8Array): number => bytes.length + ENTRY_BYTES

export function appItem(bytes: Uint8Array, blobs: Uint8Array[]): unknown[] {
  blobs.push(bytes)
  return [APP, [bytes.length]]
}

/**
 * Encodes a message. `from` and `to` are not written: the receiver takes them from the connection, so that
 * they cannot be forged.
 */
export function messageItem(message: Message, blobs: Uint8Array[]): unknown[] {
  const from = blobs.length
  const fields = fieldsOf(message, blobs)
  const lengths = blobs.slice(from).map((bytes) => bytes.length)
  return [TYPE[message.type], lengths, message.group, message.term, ...fields]
}

function fieldsOf(m: Message, blobs: Uint8Array[]): unknown[] {
  switch (m.type) {
    case 'preVote':
      return [m.lastIndex, m.lastTerm]
    case 'preVoteReply':
      return [m.granted, m.campaignTerm]
    case 'vote':
      return [m.lastIndex, m.lastTerm, m.transfer]
    case 'voteReply':
      return [m.granted]
    case 'append':
      return [m.prevIndex, m.prevTerm, m.commit, m.round, entryFields(m.prevIndex, m.entries, blobs)]
    case 'appendReply':
      return m.ok ? [true, m.round, m.match] : [false, m.round, m.rejected, m.hintIndex, m.hintTerm]
    case 'heartbeat':
      return [m.commit, m.round]
    case 'heartbeatReply':
      return [m.round, m.match]
    case 'snapshot': {
      const { index, term, time } = m.position
      blobs.push(encodeMembership(m.membership), m.chunk)
      return [index, term, time, m.offset, m.done]
    }
    case 'snapshotReply': {
      const { index, term, time } = m.position
      return [index, term, time, m.offset, m.installed]
    }
    case 'timeoutNow':
      return []
    case 'readIndex':
      return [m.context]
    case 'readIndexReply':
      return [m.context, m.index ?? null, m.time]
  }
}

/**
 * Returns three values for each entry. An entry's index follows from its place in the list, so the format
 * cannot express a gap between entries (L17).
 */
function entryFields(prevIndex: number, entries: readonly Entry[], blobs: Uint8Array[]): unknown[] {
  const fields: unknown[] = []
  let index = prevIndex
  for (const entry of entries) {
    assert(entry.index === ++index, 'the entries of an append are not in a row')
    fields.push(entry.term, entry.time, KINDS.indexOf(entry.kind))
    blobs.push(entry.data)
  }
  return fields
}
