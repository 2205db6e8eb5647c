// Driver: makes the first directory of a new cluster from a backup. No member runs yet. After that, the
// caller calls open() with the same id and dir.

import { access, readdir, rm } from 'node:fs/promises'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@latchkey/base'
import { classicLevelStorage, restoreRows } from '@latchkey/kv'
import { LatchkeyError } from '@latchkey/protocol'
import { NO_MEMBERS } from '@latchkey/raft'
import { lockDirectory } from '@latchkey/raft/wal'
import { withDisk } from './disk-errors.js'
import { checkOptions, type OpenOptions } from './options.js'
import { claimDirectory } from './owner-file.js'
import { closeToOthers } from './private-directory.js'

export type RestoreOptions = Pick<OpenOptions, 'id' | 'members' | 'cluster'> & { dir: string }

/**
 * Makes the directory of a member of a new cluster from a backup. Restore each member from the same
 * file with the same list. The first leader chooses a new cluster id, so nobody confuses the new
 * cluster with the old one.
 */
export async function restore(path: string, options: RestoreOptions): Promise<undefined> {
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw new TypeError('restore: path must be the path of a backup')
  // No port is opened here. The options of the port are checked later in open(), and the addresses of other
  // members are not used.
  const { id, dir, members, cluster, logger } = checkOptions({ ...options, insecure: true })
  if (dir === undefined) throw new TypeError('dir must be the path of an empty or new folder')
  const urls = Object.entries(members ?? { [id]: '' }).sort(([a], [b]) => (a < b ? -1 : 1))
  const membership = {
    ...NO_MEMBERS,
    voters: urls.map(([name]) => name),
    peers: Object.fromEntries(urls.map(([name, url]) => [name, { url, incarnation: '' }])),
  }
  return withDisk(`${path} cannot be restored into ${dir}`, async () => {
    // If the backup cannot be read, no directory is made.
    await access(path)
    const isNew = !(await exists(dir))
    const lock = await lockDirectory(dir, systemClock(uptime))
    let done = false
    try {
      await refuseUsed(dir)
      await closeToOthers(dir, logger)
      await restoreRows(path, classicLevelStorage(join(dir, 'state')), membership)
      await claimDirectory(dir, { id, cluster })
      done = true
    } finally {
      await lock.release()
      if (!done && isNew) await rm(dir, { recursive: true, force: true })
    }
    return undefined
  })
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/**
 * The names of files that may be in an empty directory: a file system creates lost+found in the folder where
 * it is mounted, and the directory has a lock file.
 */
const NOBODYS = /^(lost\+found|lock\.\d.*)$/

/**
 * Rejects if the directory is in use. An old log would not belong to the restored state. If the path is a
 * mistake, the files of a store would be mixed with files of another program.
 */
async function refuseUsed(dir: string): Promise<void> {
  const names = (await readdir(dir)).filter((name) => !NOBODYS.test(name))
  const member = names.find((name) => name === 'log' || name === 'member.json' || name === 'state')
  const [used = member] = member === undefined ? names : [member]
  if (used === undefined) return
  const what = member === undefined ? 'is not empty: it has' : 'has a member already:'
  throw new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The directory ${dir} ${what} ${used}. Nothing was changed. Restore into an empty or new one.`,
  )
}
