// Door: converts the bytes of a log entry into records. Each record has one command. docs/storage.md has a
// drawing.
//
//   u32le length of body | u48le session | u48le number | u48le done | body (a packed Command)
//
// Records follow each other without a gap. A record with session 0 opens a session, or ends a session by its
// id. Such a record must be the only record of its entry.

import { assert } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { u32, u48, writeU32, writeU48 } from '../little-endian.js'

export interface CommandRecord {
  /** The id of the session, or 0 in a record with the command openSession or endSession. */
  readonly session: number
  /** The number of the call in its session, or 0 for keepAlive, closeSession and cancelCall. */
  readonly number: number
  /** The client has finished all calls of the session with numbers below this one. */
  readonly done: number
  readonly body: Uint8Array
}

const RECORD_HEADER = 22

const recordBytes = (record: CommandRecord): number => RECORD_HEADER + record.body.length

export function encodeRecord(record: CommandRecord): Uint8Array {
  const bytes = Buffer.allocUnsafe(recordBytes(record))
  writeRecord(bytes, 0, record)
  return bytes
}

const NOTHING: CommandRecord = { session: 0, number: 0, done: 0, body: new Uint8Array(0) }

/**
 * Writes records directly into the bytes of the entry. One object of this class serves many records, one
 * after the other.
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

  /** Writes the record, and drops the reference to it. The caller must call `of` before each `copy`. */
  copy(into: Buffer, at: number): void {
    writeRecord(into, at, this.#record)
    this.#record = NOTHING
  }
}

export function encodeBatch(list: readonly CommandRecord[]): Uint8Array {
  let length = 0
  for (const record of list) length += recordBytes(record)
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const record of list) at = writeRecord(bytes, at, record)
  return bytes
}

/**
 * Returns true if the numbers fit into the 48-bit fields of a record. A member refuses a command with a
 * larger number when it receives the command.
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
 * Reads the records of an entry one after the other, without creating an object for each record.
 *
 * Law: `next()` never throws and always ends. Bytes that are no whole record become one last record with
 * `bad` set. So hostile bytes cost one refused command, and never stop a member.
 */
export class BatchReader {
  readonly data: Buffer
  session = 0
  number = 0
  done = 0
  /** The offset in `data` at which the body begins. */
  bodyAt = 0
  bodyEnd = 0
  /** True if the remaining bytes of the entry are not a record. */
  bad = false
  #at = 0
  /**
   * The ArrayBuffer of `data`. The constructor reads it once, because each access of `data.buffer` calls
   * native code.
   */
  readonly #memory: ArrayBufferLike
  readonly #offset: number

  constructor(data: Uint8Array) {
    this.#memory = data.buffer
    this.#offset = data.byteOffset
    this.data = this.view(0, data.length)
  }

  get body(): Buffer {
    return this.view(this.bodyAt, this.bodyEnd)
  }

  view(from: number, end: number): Buffer {
    return Buffer.from(this.#memory, this.#offset + from, end - from)
  }

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
