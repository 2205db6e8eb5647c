// Door: the bytes of an entry as records, one for each command; docs/storage.md has a drawing.
//
//   u32le length of body | u48le session | u48le number | u48le done | body (a packed Command)
//
// Records follow each other without a gap, so that the leader only joins them. Session 0 is none: the record
// opens a session, and is alone in its entry.

import { assert } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { u32, u48, writeU32, writeU48 } from '../little-endian.js'

export interface CommandRecord {
  /** The session's id; 0 for openSession. */
  readonly session: number
  /**
   * The call's number in its session; 0: without a number, which is allowed for keepAlive, closeSession and
   * cancelCall only.
   */
  readonly number: number
  /** All calls of the session with lower numbers are finished. */
  readonly done: number
  /** A packed Command, byte for byte as its sender made it. */
  readonly body: Uint8Array
}

export const RECORD_HEADER = 22

export const recordBytes = (record: CommandRecord): number => RECORD_HEADER + record.body.length

/** The bytes for `RaftNode.submit`. */
export function encodeRecord(record: CommandRecord): Uint8Array {
  const bytes = Buffer.allocUnsafe(recordBytes(record))
  writeRecord(bytes, 0, record)
  return bytes
}

const NOTHING: CommandRecord = { session: 0, number: 0, done: 0, body: new Uint8Array(0) }

/**
 * A record without bytes of its own: it is written directly into the entry. One object serves many commands,
 * one after the other.
 */
export class RecordSource {
  #record: CommandRecord = NOTHING

  of(record: CommandRecord): this {
    this.#record = record
    return this
  }

  get length(): number {
    return recordBytes(this.#record)
  }

  /** May be called once for each record, because the record is dropped. */
  copy(into: Buffer, at: number): void {
    writeRecord(into, at, this.#record)
    this.#record = NOTHING
  }
}

/** The data of a whole entry. */
export function encodeBatch(list: readonly CommandRecord[]): Uint8Array {
  let length = 0
  for (const record of list) length += recordBytes(record)
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const record of list) at = writeRecord(bytes, at, record)
  return bytes
}

/**
 * Checked where a command is received, so that it can be refused there; later there is no caller to refuse it
 * to.
 */
export const fitsRecord = ({ session, number, done }: CommandRecord): boolean =>
  Math.max(session, number, done) <= CAPS.recordNumber

function writeRecord(into: Buffer, at: number, record: CommandRecord): number {
  assert(fitsRecord(record), 'the doors let no number through that is wider than a record')
  const { session, number, done, body } = record
  writeU32(into, at, body.length)
  writeU48(into, at + 4, session)
  writeU48(into, at + 10, number)
  writeU48(into, at + 16, done)
  into.set(body, at + RECORD_HEADER)
  return at + RECORD_HEADER + body.length
}

/**
 * Steps through the records of an entry without creating an object for each.
 * Law: `next()` never throws and always ends. Bytes that are no whole record become one last record with
 * `bad` set, so that hostile bytes cost one answer and never stop a member.
 */
export class BatchReader {
  readonly data: Buffer
  session = 0
  number = 0
  done = 0
  /** The offset in `data`. */
  bodyAt = 0
  bodyEnd = 0
  /** The rest of the entry is not a record. */
  bad = false
  #at = 0
  /** The buffer of `data`, read once, because each access of that property calls into native code. */
  readonly #memory: ArrayBufferLike
  readonly #offset: number

  constructor(data: Uint8Array) {
    this.#memory = data.buffer
    this.#offset = data.byteOffset
    this.data = this.view(0, data.length)
  }

  /** The command of the record, as a view. */
  get body(): Buffer {
    return this.view(this.bodyAt, this.bodyEnd)
  }

  /** A view of [from, end) of `data`. */
  view(from: number, end: number): Buffer {
    return Buffer.from(this.#memory, this.#offset + from, end - from)
  }

  /** There are no more records. */
  get isDone(): boolean {
    return this.#at >= this.data.length
  }

  next(): boolean {
    const { data } = this
    const start = this.#at
    if (start >= data.length) return false
    const bodyAt = start + RECORD_HEADER
    const end = bodyAt <= data.length ? bodyAt + u32(data, start) : Number.POSITIVE_INFINITY
    if (end > data.length) return this.#broken()
    this.session = u48(data, start + 4)
    this.number = u48(data, start + 10)
    this.done = u48(data, start + 16)
    this.bodyAt = bodyAt
    this.bodyEnd = end
    this.#at = end
    return true
  }

  #broken(): boolean {
    this.bad = true
    this.session = 0
    this.number = 0
    this.done = 0
    this.bodyAt = this.#at
    this.bodyEnd = this.data.length
    this.#at = this.data.length
    return true
  }
}

/** How many records an entry holds; a bad rest counts as one. */
export function countRecords(data: Uint8Array): number {
  const reader = new BatchReader(data)
  let count = 0
  while (reader.next()) count++
  return count
}
