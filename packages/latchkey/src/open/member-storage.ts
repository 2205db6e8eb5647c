// Driver: opens a member's directory, or its storage in memory: the lock file, the file that names the owner,
// and the folders of the log and the state.

import { join } from 'node:path'
import type { Clock, Logger } from '@latchkey/base'
import { classicLevelStorage, memoryLevelStorage, type RowStorage } from '@latchkey/kv'
import type { DiskUse } from '@latchkey/protocol'
import type { DirectoryNote } from '@latchkey/raft'
import { MemoryDisk } from '@latchkey/raft/memory'
import { lockDirectory, nodeFileSystem } from '@latchkey/raft/wal'
import { diskUse } from './disk-use.js'
import type { Settings } from './options.js'
import { claimDirectory, type OwnDirectory } from './owner-file.js'
import { closeToOthers } from './private-directory.js'

/**
 * The log and the state of a member. This object is made once, and is kept when the member is opened again.
 */
export interface Storage {
  readonly rows: RowStorage
  readonly fs: ReturnType<typeof nodeFileSystem>
  readonly dir: string
  /** Undefined in memory. */
  readonly diskUse: (() => Promise<DiskUse>) | undefined
  /** Undefined in memory. */
  readonly note: DirectoryNote | undefined
  release(): Promise<void>
}

/**
 * Takes the directory. From here on only this process may use the directory. Until this call, no code of this
 * process has changed the directory.
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
 * Remembers the addresses of members. If an address cannot be stored, its member counts as a stranger at the
 * next start and is asked for its cluster, which does no harm.
 */
function noteOf(note: OwnDirectory, logger: Logger): DirectoryNote {
  const failed = (error: unknown) =>
    logger.warn('addresses of members could not be written down', { error: String(error) })
  return {
    born: note.born,
    knows: (id, url) => note.knows(id, url),
    learn: (members) => void note.learn(members).catch(failed),
  }
}
