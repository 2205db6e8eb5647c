// Driver's port: what the event log needs of a file system. The real one is here; a simulation hands in a worse one.

import { readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Files, nodeFiles } from './files.js'

export interface EventLogDisk extends Pick<Files, 'list' | 'sync' | 'remove'> {
  /** A file is closed when it has so much; undefined: the event log's own measure. */
  readonly fileBytes?: number
  /** 'create': a new, empty file; a name that is taken is an error. */
  open(path: string, how: 'create' | 'existing'): Promise<EventLogHandle>
}

/** Laws: what `write` wrote and `truncate` cut is durable only once a later `sync` has resolved; it is read also when its name is gone. */
export interface EventLogHandle {
  size(): Promise<number>
  /** One part behind the other; how many bytes were written, which may be fewer. */
  write(parts: readonly Uint8Array[], at: number): Promise<number>
  truncate(length: number): Promise<void>
  sync(): Promise<void>
  /** Fills `into` from `from` on; how many bytes were read, which may be fewer; 0: the file ends there. */
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
