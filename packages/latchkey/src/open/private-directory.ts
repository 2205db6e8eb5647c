// Driver: makes a member's directory private to its user. `mkdir` gives a directory the mode 0755, with which
// every user of the machine could read all data of the store without a token.

import { chmod, stat } from 'node:fs/promises'
import type { Logger } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'

const OWNER_ONLY = 0o700
const OTHERS = 0o077

/**
 * Removes the permissions of all other users. Rejects if the directory with such permissions belongs to
 * another user.
 */
export async function closeToOthers(dir: string, logger: Logger): Promise<void> {
  // On Windows, files have no such permissions.
  if (process.getuid === undefined) return
  const { mode, uid } = await stat(dir)
  if ((mode & OTHERS) === 0) return
  const rights = (mode & 0o777).toString(8)
  if (uid !== process.getuid() && process.getuid() !== 0)
    throw new LatchkeyError(
      'ERR_STORAGE_FAILED',
      `The directory ${dir} belongs to another user of this machine, and others may use it (its rights are ${rights}). Everything that the store holds would be open to them. Give a folder inside it, which is made with 0700, or run: chown ${process.getuid()} ${dir} && chmod 700 ${dir}`,
      { outcome: 'not-applied' },
    )
  await chmod(dir, OWNER_ONLY)
  logger.warn('the directory was open to other users of this machine; it is closed to them now (0700)', {
    dir,
    rights,
  })
}
