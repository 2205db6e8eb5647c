// Driver: the file operations of the event log. The simulator passes an implementation that loses and damages
// writes.

import { readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Files, nodeFiles } from './file-operations.js'

export interface EventLogDisk extends Pick<Files, 'list' | 'sync' | 'remove'> {
  /**
   * In bytes. When a file has this many bytes, the event log begins a new file. Undefined means the event
   * log's own limit.
   */
  readonly fileBytes?: number
  /** 'create' makes a new, empty file, and fails if the name exists. */
  open(path: string, how: 'create' | 'existing'): Promise<EventLogHandle>
}

/**
 * Laws: bytes that `write` has written, and a cut by `truncate`, are durable only after a later `sync` has
 * resolved. A file that was removed can be read until its handle is closed.
 */
export interface EventLogHandle {
  size(): Promise<number>
  /**
   * Writes the parts one after the other. Resolves to the number of written bytes, which may be smaller than
   * the sum of the parts.
   */
  write(parts: readonly Uint8Array[], at: number): Promise<number>
  truncate(length: number): Promise<void>
  sync(): Promise<void>
  /**
   * Reads bytes of the file into `into`, from index `from` on. Resolves to the number of read bytes, which
   * may be smaller than the free part of `into`. The number is 0 at the end of the file.
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
