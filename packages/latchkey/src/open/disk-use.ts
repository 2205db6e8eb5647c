// Driver: how many bytes a member's directory takes, asked of the file system when somebody wants to know.

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { DiskUse } from '@latchkey/protocol'

/** Of the folders that hold the state and the log. Files come and go meanwhile: the sum is of about that moment. */
export async function diskUse(state: string, log: string): Promise<DiskUse> {
  const [stateBytes, logBytes] = await Promise.all([bytesBelow(state), bytesBelow(log)])
  return { stateBytes, logBytes }
}

/** A file or folder that is gone when it is looked at has no bytes. */
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
