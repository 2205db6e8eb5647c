// Driver: measures on request how many bytes a member's directory has, and how many bytes of its disk are
// free.

import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { DiskUse } from '@latchkey/protocol'

/** The member may write and delete files during the measurement, so the sums are approximate. */
export async function diskUse(state: string, log: string): Promise<DiskUse> {
  const [stateBytes, logBytes, disk] = await Promise.all([bytesBelow(state), bytesBelow(log), statfs(log)])
  return {
    stateBytes,
    logBytes,
    freeBytes: disk.bavail * disk.bsize,
    totalBytes: disk.blocks * disk.bsize,
  }
}

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
