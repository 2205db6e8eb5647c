// Driver: closes a member's directory to other users of the machine. What is in it is everything the store knows: with 0755, as
// `mkdir` makes it, any user of the host can read all keys and values past every token.

import { chmod, stat } from 'node:fs/promises'
import type { Logger } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'

const OWNER_ONLY = 0o700
const OTHERS = 0o077

/** Mends the rights of a directory that is ours; rejects where it is another user's and open to others. */
export async function closeToOthers(dir: string, logger: Logger): Promise<void> {
  // A system without users and rights of this kind.
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
