// Door: an entry's bytes as records, one a command; see docs/storage.md for the drawing.
//
//   u32le length of body | u48le session | u48le number | u48le done | body (a packed Command)
//
// Records follow each other without a gap, so that a proposer only joins them. Session 0: none (openSession, alone in its entry).

import { assert, View } from '@latchkey/base'
import { CAPS } from '@latchkey/protocol'
import { u32, u48, writeU32, writeU48 } from '../little-endian.js'

export interface CommandRecord {
  /** The session's id; 0 for openSession. */
  readonly session: number
  /** The call's number in its session; 0: not numbered (keepAlive, closeSession, cancelCall only). */
  readonly number: number
  /** All numbers of the session below it are finished. */
  readonly done: number
  /** A packed Command, byte for byte what its sender made. */
  readonly body: Uint8Array
}

export const RECORD_HEADER = 22

export const recordBytes = (record: CommandRecord): number => RECORD_HEADER + record.body.length

/** What a door hands to `RaftNode.submit`. */
export function encodeRecord(record: CommandRecord): Uint8Array {
  const bytes = Buffer.allocUnsafe(recordBytes(record))
  writeRecord(bytes, 0, record)
  return bytes
}

const NOTHING: CommandRecord = { session: 0, number: 0, done: 0, body: new Uint8Array(0) }

/**
 * The same without bytes of its own: it is copied where the entry is made. One serves many commands, each until the next one's turn.
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

  /** Once: what it was of is let go of. */
  copy(into: Buffer, at: number): void {
    writeRecord(into, at, this.#record)
    this.#record = NOTHING
  }
}

/** A whole entry's data. */
export function encodeBatch(list: readonly CommandRecord[]): Uint8Array {
  let length = 0
  for (const record of list) length += recordBytes(record)
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const record of list) at = writeRecord(bytes, at, record)
  return bytes
}

/** Asked where a command comes in, so that it is refused: once it is written into a record there is nobody left to refuse it. */
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
 * Steps through an entry's records without an object for each. Law: `next()` never throws and always ends; bytes that are no
 * whole record make one last record with `bad` set, so that hostile bytes cost one answer, never a member.
 */
export class BatchReader {
  readonly data: Buffer
  session = 0
  number = 0
  done = 0
  /** In `data`. */
  bodyAt = 0
  bodyEnd = 0
  /** The rest of the entry is not a record. */
  bad = false
  #at = 0
  /** Of `data`, asked for once: each asking is a call out of compiled code. */
  readonly #memory: ArrayBufferLike
  readonly #offset: number

  constructor(data: Uint8Array) {
    this.#memory = data.buffer
    this.#offset = data.byteOffset
    this.data = this.view(0, data.length)
  }

  /** The record's command; a view. */
  get body(): Buffer {
    return this.view(this.bodyAt, this.bodyEnd)
  }

  /** Of [from, end) of `data`. */
  view(from: number, end: number): Buffer {
    return new View(this.#memory, this.#offset + from, end - from)
  }

  /** `next` would find nothing more. */
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
