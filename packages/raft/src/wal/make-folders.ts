// Driver: creates a folder and its missing parents.
//
// `mkdir` of node:fs with `recursive` never ends if the parent exists but allows no new folder, as in /proc.
// The system answers ENOENT in such a parent, so Node creates the parent and tries again for ever. So this
// file creates each folder with its own call, and tries each call at most twice.

import * as fs from 'node:fs'
import { dirname, resolve } from 'node:path'

type Mkdir = (path: string, options: { mode: number }) => Promise<unknown>

/** Returns the topmost folder that was created. Undefined if all folders existed. */
export async function makeFolders(
  path: string,
  mkdir: Mkdir = fs.promises.mkdir,
): Promise<string | undefined> {
  const folder = resolve(path)
  const first = await make(folder, mkdir)
  if (first !== 'no parent') return first === 'made' ? folder : undefined
  const parent = dirname(folder)
  const topmost = parent === folder ? undefined : await makeFolders(parent, mkdir)
  const again = await make(folder, mkdir)
  if (again === 'no parent') {
    throw Object.assign(new Error(`ENOENT: no folder can be made here: mkdir '${folder}'`), {
      code: 'ENOENT',
      syscall: 'mkdir',
      path: folder,
    })
  }
  return topmost ?? (again === 'made' ? folder : undefined)
}

async function make(folder: string, mkdir: Mkdir): Promise<'made' | 'there' | 'no parent'> {
  try {
    await mkdir(folder, { mode: 0o700 })
    return 'made'
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return 'no parent'
    if (code !== 'EEXIST' || !(await fs.promises.stat(folder)).isDirectory()) throw error
    return 'there'
  }
}
