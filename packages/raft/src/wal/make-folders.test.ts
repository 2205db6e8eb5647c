// Test: missing parent folders are created too, and a place where no folder can be created is an error at
// once.

import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolders } from './make-folders.js'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'latchkey-folders-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

test('the topmost folder that was made is named, and each is for its owner alone', async () => {
  expect(await makeFolders(join(dir, 'a', 'b', 'c'))).toBe(join(dir, 'a'))
  expect((await stat(join(dir, 'a', 'b', 'c'))).mode & 0o777).toBe(0o700)
  expect(await makeFolders(join(dir, 'a', 'b', 'c'))).toBeUndefined()
  expect(await makeFolders(join(dir, 'a', 'b', 'd'))).toBe(join(dir, 'a', 'b', 'd'))
})

test('a file that stands at the place, or above it, is an error', async () => {
  await writeFile(join(dir, 'file'), '')
  await expect(makeFolders(join(dir, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolders(join(dir, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test('a folder that takes no new names is an error at once', async () => {
  // As /proc on Linux: the folder above is there, and the system answers ENOENT all the same.
  const noNames = () => Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' }))
  await expect(makeFolders('/a/b', noNames)).rejects.toMatchObject({ code: 'ENOENT' })
})
