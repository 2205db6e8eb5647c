// Driver: the event log's files on the simulated disk of Raft's log, with all its faults. Writes that were
// not synced are lost or torn, operations fail, and the power may fail at any operation.

import type { Done, File } from '@latchkey/raft/wal'
import type { MemoryDisk } from '@latchkey/raft/memory'
import type { EventLogDisk, EventLogHandle } from '../storage/event-log-file-system.js'

const wait = (call: (done: Done) => void): Promise<void> =>
  new Promise((done, fail) => call((error) => (error === undefined ? done() : fail(error))))

export function eventLogOnDisk(disk: MemoryDisk, fileBytes: number): EventLogDisk {
  /** The open files by path. When a file is removed, its readers keep the bytes of the file. */
  const opened = new Map<string, Reader[]>()
  return {
    fileBytes,
    list: async (folder) => [...(await disk.list(folder))],
    sync: (folder) => wait((done) => disk.syncDir(folder, done)),
    remove: async (path) => {
      const bytes = disk.bytes(path)
      await wait((done) => disk.remove(path, done))
      for (const reader of opened.get(path) ?? []) reader.bytes = () => bytes
      opened.delete(path)
    },
    open: async (path, how) => {
      const file = await new Promise<File>((done, fail) =>
        disk.open(path, how, (error, one) => (one === undefined ? fail(error) : done(one))),
      )
      const reader: Reader = { bytes: () => disk.bytes(path) }
      opened.set(path, [...(opened.get(path) ?? []), reader])
      return handleOf(file, reader)
    },
  }
}

interface Reader {
  bytes: () => Uint8Array
}

function handleOf(file: File, reader: Reader): EventLogHandle {
  const read = (into: Uint8Array, from: number, at: number): number => {
    const part = reader.bytes().subarray(at, at + into.length - from)
    into.set(part, from)
    return part.length
  }
  return {
    size: async () => reader.bytes().length,
    write: async (parts, at) => {
      const bytes = Buffer.concat(parts)
      await wait((done) => file.write(at, bytes, done))
      return bytes.length
    },
    truncate: (length) => wait((done) => file.truncate(length, done)),
    sync: () => wait((done) => file.sync(done)),
    read: async (into, from, at) => read(into, from, at),
    readNow: read,
    close: () => wait((done) => file.close(done)),
  }
}
