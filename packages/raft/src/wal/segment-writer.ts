// Driver: writes records to the log's last segment, and creates a new segment when the last segment is full.
//
// Laws:
//   SW1  One write is under way at a time. The write is durable when its `done` is called without an error.
//   SW2  A new segment is created only when the segment before it is durable. The new file's name is durable
//        before the first record is written to it.
//   SW3  A file grows by whole chunks of zeros, in the same write as the records that need the space. So most
//        writes leave the file's length unchanged, and the file system need not commit its journal
//        (docs/disk.md has the figures).

import { type Apart, withApart } from '@latchkey/base'
import type { WalOptions } from './log-types.js'
import { bytesApart, putRecord, recordBytes } from './record-encoder.js'
import { type Done, type File, type FileSystem, joinPath } from './file-system-interface.js'
import { HEAD, type LogOwner, PREAMBLE_BYTES, segmentName, TURN } from './disk-format.js'
import type { LogState } from './log-end-summary.js'
import { putPreamble } from './segment-preamble.js'
import type { RecordContent } from './log-record-in-memory.js'

const GROW_BYTES = 256 * 1024
const SEGMENT_BYTES = 16 * 1024 * 1024
/** In bytes. After a large write, the encoding buffer shrinks to this size to free memory. */
const KEPT_BUFFER_BYTES = 2 * 1024 * 1024

interface WriterPorts {
  readonly fs: FileSystem
  readonly dir: string
  readonly origin: LogOwner
  readonly growBytes: number
  readonly state: LogState
}

export interface Position {
  readonly file: File
  readonly number: number
  readonly base: number
  /** In bytes, where the next record begins in the file. */
  readonly end: number
  /** In bytes, the file's length. The bytes from `end` to `length` are zeros. */
  readonly length: number
  readonly checksum: number
}

export class SegmentWriter {
  readonly #ports: WriterPorts
  #at: Position
  #buffer = Buffer.allocUnsafe(64 * 1024)

  constructor(ports: WriterPorts, at: Position) {
    this.#ports = ports
    this.#at = at
  }

  get number(): number {
    return this.#at.number
  }

  get segmentBytes(): number {
    return this.#at.end
  }

  /**
   * In bytes from the log's beginning: the log is durable up to this offset. The value is right only while no
   * write is under way.
   */
  get reach(): number {
    return this.#at.base + this.#at.end
  }

  get checksum(): number {
    return this.#at.checksum
  }

  /** Writes all records with one write and one sync. `size` is the sum of their encoded bytes. */
  write(records: readonly RecordContent[], size: number, done: Done): void {
    const { file, end, length } = this.#at
    const room = end + size <= length ? size : roundUp(end + size, this.#ports.growBytes) - end
    const copied = records.reduce((sum, record) => sum - bytesApart(record), size)
    this.#reserve(copied + room - size)
    const apart: Apart[] = []
    const checksum = this.#putRecords(records, apart)
    this.#buffer.fill(0, copied, copied + room - size)
    file.commit(end, withApart(this.#buffer, 0, copied + room - size, apart), (error) => {
      if (error !== undefined) return done(error)
      const { number, base } = this.#at
      this.#at = { file, number, base, end: end + size, length: Math.max(length, end + room), checksum }
      if (this.#buffer.length > KEPT_BUFFER_BYTES) this.#buffer = Buffer.allocUnsafe(KEPT_BUFFER_BYTES)
      done()
    })
  }

  #putRecords(records: readonly RecordContent[], apart: Apart[]): number {
    const { origin, state } = this.#ports
    const buffer = this.#buffer
    let at = 0
    let offset = this.reach
    let previous = this.#at.checksum
    for (const record of records) {
      const place = { group: origin.group, offset, previous, lastIndex: state.lastIndex }
      const end = putRecord(buffer, at, TURN, record, place, apart)
      previous = buffer.readUInt32LE(at)
      offset += buffer.readUInt32LE(at + 4)
      state.apply(record)
      at = end
    }
    return previous
  }

  #reserve(bytes: number): void {
    if (bytes > this.#buffer.length)
      this.#buffer = Buffer.allocUnsafe(Math.max(bytes, this.#buffer.length * 2))
  }

  roll(head: RecordContent, done: Done): void {
    const old = this.#at
    const origin = { number: old.number + 1, base: this.reach, previous: old.checksum }
    createSegment(this.#ports, origin, head, (error, at) => {
      if (at === undefined) return done(error)
      this.#at = at
      old.file.close(done)
    })
  }

  close(done: Done): void {
    this.#at.file.close(done)
  }
}

type Sizes = Pick<WalOptions, 'fs' | 'growBytes' | 'segmentBytes'>

export const growBytesOf = ({ growBytes, fs }: Sizes): number =>
  growBytes ?? fs.sizes?.growBytes ?? GROW_BYTES
export const segmentBytesOf = ({ segmentBytes, fs }: Sizes): number =>
  segmentBytes ?? fs.sizes?.segmentBytes ?? SEGMENT_BYTES

const roundUp = (bytes: number, to: number): number => Math.ceil(bytes / to) * to

interface SegmentOrigin {
  readonly number: number
  readonly base: number
  readonly previous: number
}

/**
 * The content and the name of the new file are durable when `done` is called without an error. With an error,
 * the file is closed.
 */
export function createSegment(
  ports: Omit<WriterPorts, 'state'>,
  { number, base, previous }: SegmentOrigin,
  head: RecordContent,
  done: (error: Error | undefined, at?: Position) => void,
): void {
  const { fs, dir, origin } = ports
  const end = PREAMBLE_BYTES + recordBytes(head)
  const buffer = Buffer.alloc(roundUp(end, ports.growBytes))
  const preambleChecksum = putPreamble(buffer, { ...origin, number, base, previous })
  const lastIndex = head.start?.position.index ?? 0
  const place = { group: origin.group, offset: base + PREAMBLE_BYTES, previous: preambleChecksum, lastIndex }
  putRecord(buffer, PREAMBLE_BYTES, HEAD, head, place)
  const checksum = buffer.readUInt32LE(PREAMBLE_BYTES)
  fs.open(joinPath(dir, segmentName(number)), 'create', (error, file) => {
    if (file === undefined) return done(error)
    const failed = (reason: Error) => file.close(() => done(reason))
    file.commit(0, [buffer], (error) => {
      if (error !== undefined) return failed(error)
      fs.syncDir(dir, (error) => {
        if (error !== undefined) return failed(error)
        done(undefined, { file, number, base, end, length: buffer.length, checksum })
      })
    })
  })
}
