// Driver: turns a backup into the directory of a member of a new cluster. The caller then calls open() with
// the same id and dir, and the new cluster starts for the first time.

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
import { claimDirectory } from './member-json-file.js'
import { closeToOthers } from './private-directory.js'

export type RestoreOptions = Pick<OpenOptions, 'id' | 'members' | 'cluster'> & { dir: string }

/**
 * Makes the directory of one member of a new cluster from a backup. Call this function once for each member,
 * with the same backup and the same option `members`. The first leader draws a new cluster id, so the new
 * cluster is never taken for the old one.
 */
export async function restore(path: string, options: RestoreOptions): Promise<undefined> {
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw new TypeError('restore: path must be the path of a backup')
  // checkOptions() would refuse a port that other machines can reach without a token. `insecure` skips this
  // check, because restore() opens no port.
  const { id, dir, members, cluster, logger } = checkOptions({ ...options, insecure: true })
  if (dir === undefined) throw new TypeError('dir must be the path of an empty or new folder')
  const urls = Object.entries(members ?? { [id]: '' }).sort(([a], [b]) => (a < b ? -1 : 1))
  const membership = {
    ...NO_MEMBERS,
    voters: urls.map(([name]) => name),
    peers: Object.fromEntries(urls.map(([name, url]) => [name, { url, incarnation: '' }])),
  }
  return withDisk(`${path} cannot be restored into ${dir}`, async () => {
    // An unreadable backup fails here, before the directory is made.
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
 * Names that an empty directory may have: lost+found of the file system, and the lock file of the directory.
 */
const ALLOWED_NAMES = /^(lost\+found|lock\.\d.*)$/

/**
 * Throws if the directory has files. An old log would contradict the restored state, and files of other
 * programs would be mixed with files of the member.
 */
async function refuseUsed(dir: string): Promise<void> {
  const names = (await readdir(dir)).filter((name) => !ALLOWED_NAMES.test(name))
  const member = names.find((name) => name === 'log' || name === 'member.json' || name === 'state')
  const [used = member] = member === undefined ? names : [member]
  if (used === undefined) return
  const what = member === undefined ? 'is not empty: it has' : 'has a member already:'
  throw new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The directory ${dir} ${what} ${used}. Nothing was changed. Restore into an empty or new one.`,
  )
}
