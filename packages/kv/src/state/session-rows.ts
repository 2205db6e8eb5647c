// Rule: the form of a session, and of a kept reply to one of its calls, in memory and as stored rows.
//
// Behind the checksum of the row:
//   session   f64le life in ms | f64le deadline in cluster time | f64le done: all calls below this number are
//             finished | identity of the client that opened the session, in UTF-8
//   reply     u8 cancelled: 1 if the call was cancelled before it arrived, otherwise 0 | u32le checksum of the
//             request | answer

import { asBuffer, text, utf8 } from '@latchkey/base'
import { type GivenAnswer, answerSize } from '../commands/answer-encoding.js'
import type { Row } from '../storage/row-store-interface.js'
import { CHECKSUM_BYTES, setChecksum } from '../storage/stored-row-checksum.js'
import { SPACE, keyOfNumber, replyKey } from '../keyspaces.js'
import type { Due } from './deadline-heap.js'
import { RepliesByNumber } from './replies-by-number.js'

export class Reply {
  readonly session: Session
  readonly number: number
  /**
   * The checksum of the request, to recognize a repeated request, or ANY_BODY if the call was cancelled
   * before it arrived.
   */
  readonly crc: number
  readonly size: number
  /** Undefined if the answer is only in its row in the store. */
  answer: GivenAnswer | undefined
  stored = false
  dropped = false

  constructor(session: Session, number: number, crc: number, answer: GivenAnswer) {
    this.session = session
    this.number = number
    this.crc = crc
    this.size = answerSize(answer)
    this.answer = answer
  }

  get bytes(): Uint8Array | undefined {
    return this.answer?.bytes
  }
}

/** The value of `crc` for a call that was cancelled before its request arrived. No crc32 is negative. */
export const ANY_BODY = -1

export class Session implements Due {
  readonly id: number
  readonly life: number
  /**
   * The name of the client that opened the session. The member writes this name, so a client cannot choose
   * another name.
   */
  readonly by: string
  due = 0
  heapIndex = -1
  sortedBy = 0
  /** The client has finished all calls with numbers below this one. */
  done = 1
  readonly replies = new RepliesByNumber<Reply>()
  replyBytes = 0
  stored = false
  dirty = false

  constructor(id: number, life: number, by: string) {
    this.id = id
    this.life = life
    this.by = by
  }
}

export function sessionRow(session: Session): Row {
  const key = keyOfNumber(SPACE.sessions, session.id)
  const by = utf8(session.by)
  const value = Buffer.allocUnsafe(CHECKSUM_BYTES + 24 + by.length)
  value.writeDoubleLE(session.life, CHECKSUM_BYTES)
  value.writeDoubleLE(session.due, CHECKSUM_BYTES + 8)
  value.writeDoubleLE(session.done, CHECKSUM_BYTES + 16)
  value.set(by, CHECKSUM_BYTES + 24)
  setChecksum(key, value)
  return { key, value }
}

export function replyRow(reply: Reply, bytes = reply.bytes as Uint8Array): Row {
  const key = replyKey(reply.session.id, reply.number)
  const value = Buffer.allocUnsafe(CHECKSUM_BYTES + 5 + bytes.length)
  const cancelled = reply.crc === ANY_BODY
  value[CHECKSUM_BYTES] = cancelled ? 1 : 0
  value.writeUInt32LE(cancelled ? 0 : reply.crc, CHECKSUM_BYTES + 1)
  value.set(bytes, CHECKSUM_BYTES + 5)
  setChecksum(key, value)
  return { key, value }
}

export function decodeSession(id: number, body: Uint8Array): Session {
  const row = asBuffer(body)
  const session = new Session(id, row.readDoubleLE(0), text(row.subarray(24)))
  session.due = row.readDoubleLE(8)
  session.done = row.readDoubleLE(16)
  session.stored = true
  return session
}

/** The returned `bytes` are the answer, as a view of the body. */
export function decodeReply(body: Uint8Array): { crc: number; bytes: Uint8Array } {
  const row = asBuffer(body)
  return { crc: row[0] === 1 ? ANY_BODY : row.readUInt32LE(1), bytes: row.subarray(5) }
}
