// Door: the simulated journal's records as bytes. Each checksum goes on from the record before, so nothing
// stands in a wrong place.

import { checksum, copyBytes, text, utf8 } from '@latchkey/base'
import type { Entry, EntryKind, HardState, LogPosition, Membership } from '@latchkey/raft/core'

export type JournalRecord =
  | {
      readonly type: 'base'
      readonly generation: number
      readonly position: LogPosition
      readonly membership: Membership
    }
  | { readonly type: 'truncate'; readonly from: number }
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'hard'; readonly hard: HardState }

const HEAD = 9
const KINDS: readonly EntryKind[] = ['empty', 'commands', 'members']

/** Encodes into one growing buffer; `take` hands out what was added since. */
export class RecordWriter {
  #bytes = new Uint8Array(1024)
  #view = new DataView(this.#bytes.buffer)
  #length = 0
  #chain: number

  constructor(chain: number) {
    this.#chain = chain
  }

  get chain(): number {
    return this.#chain
  }

  base(generation: number, position: LogPosition, membership: Membership): void {
    const body = utf8(JSON.stringify({ generation, position, membership }))
    this.#record(1, body.length, (at) => this.#bytes.set(body, at))
  }

  truncate(from: number): void {
    this.#record(2, 8, (at) => this.#view.setFloat64(at, from))
  }

  entry({ index, term, time, kind, data }: Entry): void {
    this.#record(3, 25 + data.length, (at) => {
      this.#view.setFloat64(at, index)
      this.#view.setFloat64(at + 8, term)
      this.#view.setFloat64(at + 16, time)
      this.#bytes[at + 24] = KINDS.indexOf(kind)
      this.#bytes.set(data, at + 25)
    })
  }

  hard({ term, vote }: HardState): void {
    const body = utf8(vote ?? '')
    this.#record(4, 8 + body.length, (at) => {
      this.#view.setFloat64(at, term)
      this.#bytes.set(body, at + 8)
    })
  }

  take(): Uint8Array {
    const bytes = this.#bytes.slice(0, this.#length)
    this.#length = 0
    return bytes
  }

  #record(type: number, size: number, fill: (at: number) => void): void {
    const start = this.#length
    const end = start + HEAD + size
    if (end > this.#bytes.length) this.#grow(end)
    this.#view.setUint32(start + 4, size)
    this.#bytes[start + 8] = type
    fill(start + HEAD)
    this.#chain = checksum(this.#bytes.subarray(start + 4, end), this.#chain)
    this.#view.setUint32(start, this.#chain)
    this.#length = end
  }

  #grow(size: number): void {
    const larger = new Uint8Array(Math.max(size, this.#bytes.length * 2))
    larger.set(this.#bytes)
    this.#bytes = larger
    this.#view = new DataView(larger.buffer)
  }
}

/** Reads records until the bytes end or are wrong; `end` is behind the last whole one. */
export function readRecords(bytes: Uint8Array): {
  readonly records: readonly JournalRecord[]
  readonly end: number
  readonly chain: number
} {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const records: JournalRecord[] = []
  let at = 0
  let chain = 0
  while (at + HEAD <= bytes.length) {
    const size = view.getUint32(at + 4)
    const end = at + HEAD + size
    if (end > bytes.length) break
    const sum = checksum(bytes.subarray(at + 4, end), chain)
    if (sum !== view.getUint32(at)) break
    const record = decode(bytes[at + 8] as number, bytes.subarray(at + HEAD, end))
    if (record === undefined) break
    records.push(record)
    chain = sum
    at = end
  }
  return { records, end: at, chain }
}

function decode(type: number, body: Uint8Array): JournalRecord | undefined {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  if (type === 1)
    return { type: 'base', ...(JSON.parse(text(body)) as Omit<JournalRecord & { type: 'base' }, 'type'>) }
  if (type === 2) return { type: 'truncate', from: view.getFloat64(0) }
  if (type === 4) {
    const vote = text(body.subarray(8))
    return { type: 'hard', hard: { term: view.getFloat64(0), vote: vote === '' ? undefined : vote } }
  }
  const kind = KINDS[body[24] ?? -1]
  if (type !== 3 || kind === undefined) return undefined
  const entry: Entry = {
    index: view.getFloat64(0),
    term: view.getFloat64(8),
    time: view.getFloat64(16),
    kind,
    data: copyBytes(body.subarray(25)),
  }
  return { type: 'entry', entry }
}

/** That the journal of this generation is durable up to this length. */
export interface Mark {
  readonly generation: number
  readonly length: number
}

export const MARK_SIZE = 20

export function encodeMark({ generation, length }: Mark): Uint8Array {
  const bytes = new Uint8Array(MARK_SIZE)
  const view = new DataView(bytes.buffer)
  view.setFloat64(4, generation)
  view.setFloat64(12, length)
  view.setUint32(0, checksum(bytes.subarray(4)))
  return bytes
}

/** Undefined where no whole mark stands. */
export function decodeMark(bytes: Uint8Array, at: number): Mark | undefined {
  if (bytes.length < at + MARK_SIZE) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, MARK_SIZE)
  const body = bytes.subarray(at + 4, at + MARK_SIZE)
  if (view.getUint32(0) !== checksum(body)) return undefined
  return { generation: view.getFloat64(4), length: view.getFloat64(12) }
}
