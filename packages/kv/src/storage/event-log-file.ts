// Driver: one file of the event log. A view, which is a snapshot for readers, can read the file until the
// view closes, even after the file was removed from its folder.

import { join } from 'node:path'
import { LatchkeyError } from '@latchkey/protocol'
import type { EventLogDisk, EventLogHandle } from './event-log-file-system.js'

const NAME = /^rows-journal-([1-9][0-9]*)$/

export const eventLogName = (number: number): string => `rows-journal-${number}`
/** Returns 0 if the file is not a file of the event log. */
export const eventLogNumber = (name: string): number => Number(NAME.exec(name)?.[1] ?? 0)

export class EventLogFile {
  readonly number: number
  /** In bytes, the offset after the last frame. A frame has the rows of one batch. */
  end = 0
  /** The checksum of the last frame. The checksum of a frame also covers all frames before that frame. */
  checksum = 0
  /** How many rows of this file are still in use. */
  live = 0
  readonly #disk: EventLogDisk
  readonly #path: string
  readonly #handle: EventLogHandle
  #readers = 0
  #removed = false
  #closed = false

  constructor(number: number, disk: EventLogDisk, path: string, handle: EventLogHandle) {
    this.number = number
    this.#disk = disk
    this.#path = path
    this.#handle = handle
  }

  static async open(
    disk: EventLogDisk,
    folder: string,
    number: number,
    how: 'create' | 'existing',
  ): Promise<EventLogFile> {
    const path = join(folder, eventLogName(number))
    return new EventLogFile(number, disk, path, await disk.open(path, how))
  }

  size(): Promise<number> {
    return this.#handle.size()
  }

  /**
   * Writes all parts. A call of the file system may write only some of the bytes, so further calls of the
   * file system write the rest.
   */
  async write(parts: readonly Uint8Array[], at: number): Promise<void> {
    let left = parts.reduce((sum, part) => sum + part.length, 0)
    for (let rest = parts, to = at; left > 0; ) {
      const written = await this.#handle.write(rest, to)
      if (written === 0) throw new Error(`${this.#path}: a write at ${to} wrote nothing`)
      left -= written
      to += written
      if (left > 0) rest = [Buffer.concat(rest).subarray(written)]
    }
  }

  /**
   * Removes the bytes after `end` from the file. After the promise has resolved, a crash cannot bring these
   * bytes back.
   */
  async cut(end: number): Promise<void> {
    if ((await this.size()) <= end) return
    await this.#handle.truncate(end)
    await this.#handle.sync()
  }

  async sync(): Promise<void> {
    await this.#handle.sync()
  }

  /** Reads `length` bytes at the offset `at`, or fewer at the end of the file. */
  async read(at: number, length: number): Promise<Buffer> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    const bytes = Buffer.allocUnsafe(length)
    let from = 0
    while (from < length) {
      const count = await this.#handle.read(bytes, from, at + from)
      if (count === 0) break
      from += count
    }
    return bytes.subarray(0, from)
  }

  readNow(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    let from = 0
    while (from < length) {
      const count = this.#handle.readNow(bytes, from, at + from)
      if (count === 0) break
      from += count
    }
    return bytes.subarray(0, from)
  }

  retain(): void {
    this.#readers++
  }

  release(): void {
    this.#readers--
    if (this.#removed && this.#readers === 0) void this.close().catch(() => {})
  }

  /** Removes the file from its folder. Views that still read the file keep its handle open. */
  async remove(): Promise<void> {
    this.#removed = true
    await this.#disk.remove(this.#path)
    if (this.#readers === 0) await this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#handle.close()
  }
}
