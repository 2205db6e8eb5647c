// Test: recover makes a backup from the directory of a stopped member: its content, the unchanged directory,
// and the cases that it refuses.

import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  closedAfterEach,
  freePorts,
  tempFolders,
} from '../contract/testing/free-ports-and-temporary-folders.js'
import { code } from '../contract/testing/small-test-functions.js'
import { open } from './open.js'
import { recover } from './backup-of-stopped-member.js'
import { restore } from './directory-from-backup.js'

const folder = tempFolders()
const later = closedAfterEach()

/** The files of a directory with a digest of each. */
function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).toSorted()
  const files = names.filter((name) => statSync(join(dir, name)).isFile())
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(dir, name)))
        .digest('hex'),
    ]),
  )
}

/** The directory as it is on disk while its member runs: what a member leaves that is killed. */
function asKilled(dir: string): string {
  const left = folder()
  mkdirSync(left, { recursive: true })
  for (const part of ['member.json', 'state', 'log'])
    cpSync(join(dir, part), join(left, part), { recursive: true, filter: (path) => !path.endsWith('/LOCK') })
  return left
}

/** What the folder of `path` has besides it. */
const beside = (path: string): string[] =>
  readdirSync(dirname(path)).filter((name) => name.startsWith(`${path.split('/').at(-1)}.`))

test('OP2, OP3: all that is in the log is in the backup, and the directory stays as it was', async () => {
  const dir = folder()
  const store = later(await open({ id: 'a', dir }))
  for (let i = 0; i < 300; i++) await store.put(`k${i}`, `v${i}`)
  const hold = await store.locks.acquire('held', { lease: '60s' })
  const left = asKilled(dir)
  const before = filesOf(left)
  const file = `${folder()}.backup`
  const found = await recover(file, { dir: left })
  const { clusterId, commit, term } = await store.status()
  expect(found).toMatchObject({ id: 'a', cluster: 'latchkey', clusterId, voters: ['a'], term })
  // Nothing is proposed between the copy and the question but, at most, an empty entry for a deadline.
  expect(found.index).toBeGreaterThanOrEqual(302)
  expect(found.index).toBeLessThanOrEqual(commit)
  // The state is written to disk now and then only: without the log these entries would be lost.
  expect(found.fromLog).toBeGreaterThan(0)
  expect(filesOf(left)).toEqual(before)
  expect(beside(file)).toEqual([])
  const next = folder()
  await restore(file, { id: 'x', dir: next })
  const restored = later(await open({ id: 'x', dir: next, as: 'string' }))
  for (let i = 0; i < 300; i++) expect(await restored.get(`k${i}`)).toBe(`v${i}`)
  expect(await restored.locks.query('held')).toMatchObject([{ fencingToken: hold.token }])
})

test('OP4: a recovered member is a new cluster: another id, and tokens far above the old ones', async () => {
  const dir = folder()
  const store = await open({ id: 'a', dir })
  const { token } = await store.locks.acquire('l')
  const { clusterId } = await store.status()
  await store.close()
  const file = `${folder()}.backup`
  expect(await recover(file, { dir })).toMatchObject({ clusterId })
  const next = folder()
  await restore(file, { id: 'a', dir: next })
  const restored = later(await open({ id: 'a', dir: next }))
  await restored.ready({ timeout: '20s' })
  expect((await restored.status()).clusterId).not.toBe(clusterId)
  expect((await restored.locks.acquire('other')).token).toBeGreaterThanOrEqual(token + 2 ** 32)
})

test('a member that runs, a folder that is none, and a file that is there are refused; nothing is left behind', async () => {
  const dir = folder()
  const store = later(await open({ id: 'a', dir }))
  await store.put('k', 'v')
  const file = `${folder()}.backup`
  await expect(recover(file, { dir })).rejects.toMatchObject(code('ERR_DIR_LOCKED'))
  const none = folder()
  await expect(recover(file, { dir: none })).rejects.toMatchObject(code('ERR_WRONG_CLUSTER'))
  expect(existsSync(none)).toBe(false)
  mkdirSync(none, { recursive: true })
  await expect(recover(file, { dir: none })).rejects.toMatchObject(
    code('ERR_WRONG_CLUSTER', { message: expect.stringMatching(/no member\.json/) }),
  )
  expect(readdirSync(none)).toEqual([])
  expect(existsSync(file)).toBe(false)
  await store.close()
  writeFileSync(file, 'mine')
  await expect(recover(file, { dir })).rejects.toMatchObject(code('ERR_STORAGE_FAILED'))
  expect(readFileSync(file, 'utf8')).toBe('mine')
  expect(beside(file)).toEqual([])
  await recover(file, { dir, overwrite: true })
  expect(statSync(file).size).toBeGreaterThan(4)
})

test('a member that waits in a new cluster has nothing to recover', async () => {
  const [one, two] = await freePorts(2)
  const dir = folder()
  const members = { a: `ws://127.0.0.1:${one}`, b: `ws://127.0.0.1:${two}` }
  await (await open({ id: 'a', dir, members })).close()
  const file = `${folder()}.backup`
  await expect(recover(file, { dir })).rejects.toMatchObject(code('ERR_WRONG_CLUSTER'))
  expect(existsSync(file)).toBe(false)
})

test('D2: a damaged log is refused, with what to do instead, and leaves no file', async () => {
  const dir = folder()
  const store = later(await open({ id: 'a', dir }))
  for (let i = 0; i < 50; i++) await store.put(`k${i}`, 'v'.repeat(1_000))
  const left = asKilled(dir)
  const segment = readdirSync(join(left, 'log')).find((name) => name.endsWith('.log') || /\d/.test(name))
  const path = join(left, 'log', segment as string)
  const bytes = readFileSync(path)
  bytes.fill(0x55, 1_000, 1_100)
  writeFileSync(path, bytes)
  const file = `${folder()}.backup`
  await expect(recover(file, { dir: left })).rejects.toMatchObject(
    code('ERR_CORRUPT', {
      message: expect.stringMatching(/another member that is left, or restore the last backup/),
    }),
  )
  expect(existsSync(file)).toBe(false)
  expect(beside(file)).toEqual([])
  rmSync(left, { recursive: true })
})
