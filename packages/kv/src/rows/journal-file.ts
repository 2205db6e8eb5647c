// Driver: one file of the journal. It is read as long as a view has rows in it, also when its name is gone.

import { readSync } from 'node:fs'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { LatchkeyError } from '@latchkey/protocol'

const NAME = /^rows-journal-([1-9][0-9]*)$/

export const journalName = (number: number): string => `rows-journal-${number}`
/** 0: the name is not of the journal. */
export const journalNumber = (name: string): number => Number(NAME.exec(name)?.[1] ?? 0)

export class JournalFile {
  readonly number: number
  /** Where the next frame begins. */
  end = 0
  /** Of the frames so far. */
  checksum = 0
  /** Rows in use that stand here. */
  live = 0
  readonly #path: string
  readonly #handle: FileHandle
  #readers = 0
  #removed = false
  #closed = false

  constructor(number: number, path: string, handle: FileHandle) {
    this.number = number
    this.#path = path
    this.#handle = handle
  }

  static async open(folder: string, number: number, how: 'create' | 'existing'): Promise<JournalFile> {
    const path = join(folder, journalName(number))
    return new JournalFile(number, path, await open(path, how === 'create' ? 'wx+' : 'r+', 0o600))
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size
  }

  /** A write may be short: the rest is written by another one. */
  async write(parts: readonly Uint8Array[], at: number): Promise<void> {
    let left = parts.reduce((sum, part) => sum + part.length, 0)
    for (let rest = parts, to = at; left > 0; ) {
      const { bytesWritten } = await this.#handle.writev(rest, to)
      if (bytesWritten === 0) throw new Error(`${this.#path}: a write at ${to} wrote nothing`)
      left -= bytesWritten
      to += bytesWritten
      if (left > 0) rest = [Buffer.concat(rest).subarray(bytesWritten)]
    }
  }

  /** What is behind `end` goes. */
  async cut(end: number): Promise<void> {
    if ((await this.size()) > end) await this.#handle.truncate(end)
  }

  async sync(): Promise<void> {
    await this.#handle.datasync()
  }

  /** Shorter than `length` where the file ends. */
  async read(at: number, length: number): Promise<Buffer> {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED')
    const bytes = Buffer.allocUnsafe(length)
    let from = 0
    while (from < length) {
      const { bytesRead } = await this.#handle.read(bytes, from, length - from, at + from)
      if (bytesRead === 0) break
      from += bytesRead
    }
    return bytes.subarray(0, from)
  }

  readNow(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    let from = 0
    while (from < length) {
      const count = readSync(this.#handle.fd, bytes, from, length - from, at + from)
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

  /** Its name goes now; it is let go of once nobody reads in it. */
  async remove(): Promise<void> {
    this.#removed = true
    await unlink(this.#path)
    if (this.#readers === 0) await this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#handle.close()
  }
}
