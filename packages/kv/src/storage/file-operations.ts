// Driver: operations on whole files and folders. Tests use another implementation, which fails or stops.

import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

export interface Files {
  /** Returns an empty list if the folder does not exist. */
  list(folder: string): Promise<string[]>
  make(folder: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Syncs a file. For a folder, syncs the list of the names in the folder. */
  sync(path: string): Promise<void>
  remove(path: string): Promise<void>
}

export const nodeFiles: Files = {
  list: (folder) => readdir(folder).catch(noneIfAbsent),
  make: async (folder) => void (await mkdir(folder, { recursive: true })),
  rename,
  sync: async (path) => {
    const handle = await open(path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
}

function noneIfAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}

export async function syncFolder(files: Files, folder: string): Promise<void> {
  for (const name of await files.list(folder)) await files.sync(join(folder, name))
  await files.sync(folder)
}

export async function sizeOf(path: string): Promise<number> {
  return (await stat(path)).size
}
