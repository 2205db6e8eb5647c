// Driver: sums the bytes of a member's directory and reads the free bytes of its disk, when a caller asks for
// them.

import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { DiskUse } from '@latchkey/protocol'

/**
 * Sums the bytes of the folders of the state and of the log. Files are made and deleted meanwhile, so the sum
 * is approximate.
 */
export async function diskUse(state: string, log: string): Promise<DiskUse> {
  const [stateBytes, logBytes, disk] = await Promise.all([bytesBelow(state), bytesBelow(log), statfs(log)])
  return {
    stateBytes,
    logBytes,
    freeBytes: disk.bavail * disk.bsize,
    totalBytes: disk.blocks * disk.bsize,
  }
}

/** A file or folder that is deleted before it is measured has no bytes. */
async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const sizes = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory()
      ? await bytesBelow(path)
      : await stat(path).then(
          ({ size }) => size,
          () => 0,
        )
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
