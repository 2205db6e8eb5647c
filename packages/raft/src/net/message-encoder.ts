// Rule: encodes a message as an item of a frame: [type, lengths of blobs, group, term, ...fields]. Blobs are
// byte strings, such as the data of an entry or a piece of a snapshot. The blobs of a frame follow after all
// its items. The lengths let an older version of Latchkey skip the blobs of a message whose type it does not
// know.

import { assert } from '@latchkey/base'
import { encodeMembership } from '../core/membership.js'
import type { Entry, EntryKind, MessageType, Message } from '../core/types.js'

/**
 * The first element of an item. New message types get new numbers. Type 0 is a message of the layer above
 * Raft, whose content this layer does not know.
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
  storedByAll: 14,
}

/** An entry's kind is encoded as its index in this list. So a new kind must be added at the end. */
export const KINDS: readonly EntryKind[] = ['empty', 'commands', 'members']

/**
 * In bytes, upper limits of sizes. ITEM_BYTES: an item without its blobs and entries. ENTRY_BYTES: what each
 * entry adds besides its data. A number takes up to nine bytes, and the length of a blob takes five.
 */
const ITEM_BYTES = 128
const ENTRY_BYTES = 32

/** Returns an upper limit of the message's size in a frame, in bytes. */
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
 * Encodes a message without `from` and `to`. The receiver takes these two ids from the connection, so a
 * sender cannot forge them.
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
    case 'storedByAll':
      return [m.index]
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
 * Returns term, time and kind of each entry. The index is not encoded, because it follows from the entry's
 * place in the list. So no gap can be encoded (L17).
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
