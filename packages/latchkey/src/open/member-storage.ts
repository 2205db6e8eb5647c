// Driver: opens the storage of a member in a directory or in memory: the lock file, the file member.json, and
// the folders with log and state.

import { join } from 'node:path'
import type { Clock, Logger } from '@latchkey/base'
import { classicLevelStorage, memoryLevelStorage, type RowStorage } from '@latchkey/kv'
import type { DiskUse } from '@latchkey/protocol'
import type { DirectoryNote } from '@latchkey/raft'
import { MemoryDisk } from '@latchkey/raft/memory'
import { lockDirectory, nodeFileSystem } from '@latchkey/raft/wal'
import { diskUse } from './disk-space-used.js'
import type { Settings } from './options.js'
import { claimDirectory, type OwnDirectory } from './member-json-file.js'
import { closeToOthers } from './private-directory.js'

/** A member that is closed and opened again uses the same Storage. */
export interface Storage {
  readonly rows: RowStorage
  readonly fs: ReturnType<typeof nodeFileSystem>
  readonly dir: string
  /** Undefined if the storage is in memory. */
  readonly diskUse: (() => Promise<DiskUse>) | undefined
  /** Undefined if the storage is in memory. */
  readonly note: DirectoryNote | undefined
  release(): Promise<void>
}

/**
 * This function changes nothing in the directory before it has the lock, because another process may use the
 * directory.
 */
export async function takeStorage({ dir, id, cluster, logger }: Settings, clock: Clock): Promise<Storage> {
  if (dir === undefined) {
    return {
      rows: memoryLevelStorage(),
      fs: new MemoryDisk(),
      dir: 'log',
      diskUse: undefined,
      note: undefined,
      release: async () => {},
    }
  }
  const lock = await lockDirectory(dir, clock)
  let note: OwnDirectory
  try {
    await closeToOthers(dir, logger)
    note = await claimDirectory(dir, { id, cluster })
  } catch (error) {
    await lock.release()
    throw error
  }
  const [state, log] = [join(dir, 'state'), join(dir, 'log')]
  return {
    rows: classicLevelStorage(state),
    fs: nodeFileSystem(),
    dir: log,
    diskUse: () => diskUse(state, log),
    note: noteOf(note, logger),
    release: async () => {
      await note.written().catch(() => {})
      await lock.release()
    },
  }
}

/**
 * A failed write of addresses is only logged. If addresses are missing in the file, this member only asks
 * more processes for the id of their cluster at its next start.
 */
function noteOf(note: OwnDirectory, logger: Logger): DirectoryNote {
  const failed = (error: unknown) =>
    logger.warn('the addresses of members could not be stored in member.json', { error: String(error) })
  return {
    born: note.born,
    knows: (id, url) => note.knows(id, url),
    learn: (members) => void note.learn(members).catch(failed),
  }
}
