// Driver: the note in a directory that says whose it is: member and name of the cluster. Written once, before anything else; the log
// knows the member too, but not the cluster's name.

import { access, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { LatchkeyError } from '@latchkey/protocol'

export interface DirOwner {
  readonly id: string
  readonly cluster: string
}

const NAME = 'member.json'

/** Rejects with ERR_WRONG_CLUSTER when it is another's. A directory without a note becomes this one's. The caller holds its lock. */
export async function claimDirectory(dir: string, { id, cluster }: DirOwner): Promise<void> {
  const owner = await readOwner(dir)
  if (owner === undefined) return writeOwner(dir, { id, cluster })
  if (owner.id === id && owner.cluster === cluster) return
  throw new LatchkeyError(
    'ERR_WRONG_CLUSTER',
    `The directory ${dir} belongs to member ${owner.id} of cluster ${owner.cluster}, not to ${id} of ${cluster}. Check dir, id and cluster.`,
  )
}

/** Whether somebody's member lives in that directory. */
export const isClaimed = (dir: string): Promise<boolean> =>
  access(join(dir, NAME)).then(
    () => true,
    () => false,
  )

async function readOwner(dir: string): Promise<DirOwner | undefined> {
  let bytes: string
  try {
    bytes = await readFile(join(dir, NAME), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const owner = parse(bytes)
  if (owner !== undefined) return owner
  throw new LatchkeyError(
    'ERR_CORRUPT',
    `${NAME} in ${dir} is damaged at offset 0. It only says whose directory this is: if you are sure, delete it and start again.`,
  )
}

function parse(bytes: string): DirOwner | undefined {
  try {
    const { version, id, cluster } = JSON.parse(bytes) as Record<string, unknown>
    return version === 1 && typeof id === 'string' && typeof cluster === 'string'
      ? { id, cluster }
      : undefined
  } catch {
    return undefined
  }
}

/** Complete and synced before it gets its name. */
async function writeOwner(dir: string, { id, cluster }: DirOwner): Promise<void> {
  const path = join(dir, NAME)
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify({ version: 1, id, cluster })}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  const folder = await open(dir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
