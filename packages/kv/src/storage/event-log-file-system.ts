// Driver: the file operations of the event log. Tests have another implementation, which loses and damages
// writes.

import { readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Files, nodeFiles } from './file-operations.js'

export interface EventLogDisk extends Pick<Files, 'list' | 'sync' | 'remove'> {
  /**
   * In bytes. When a file has this many bytes, the event log begins a new file. Undefined means the event
   * log's own limit of 8 MiB.
   */
  readonly fileBytes?: number
  /**
   * 'create' makes a new, empty file, and fails if the file exists. 'existing' fails if the file does not
   * exist.
   */
  open(path: string, how: 'create' | 'existing'): Promise<EventLogHandle>
}

/**
 * Laws: the effects of `write` and `truncate` are durable only after a later `sync` has resolved. A removed
 * file stays readable until its handle is closed.
 */
export interface EventLogHandle {
  size(): Promise<number>
  /**
   * Writes the parts one after the other, from the offset `at` of the file on. Resolves to the number of
   * written bytes, which may be less than the total length of the parts.
   */
  write(parts: readonly Uint8Array[], at: number): Promise<number>
  truncate(length: number): Promise<void>
  sync(): Promise<void>
  /**
   * Reads from the offset `at` of the file into the array `into`, beginning at its index `from`. Resolves to
   * the number of read bytes. It may be less than the array has room for, and is 0 at the end of the file.
   */
  read(into: Uint8Array, from: number, at: number): Promise<number>
  readNow(into: Uint8Array, from: number, at: number): number
  close(): Promise<void>
}

export const nodeEventLogDisk: EventLogDisk = {
  ...nodeFiles,
  open: async (path, how) => {
    const handle = await open(path, how === 'create' ? 'wx+' : 'r+', 0o600)
    return {
      size: async () => (await handle.stat()).size,
      write: async (parts, at) => (await handle.writev(parts, at)).bytesWritten,
      truncate: (length) => handle.truncate(length),
      sync: () => handle.datasync(),
      read: async (into, from, at) => (await handle.read(into, from, into.length - from, at)).bytesRead,
      readNow: (into, from, at) => readSync(handle.fd, into, from, into.length - from, at),
      close: () => handle.close(),
    }
  },
}
