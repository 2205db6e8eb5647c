// Test: backup and restore, as docs/operations.md describes them, and the tokens after a restore
// (docs/locks.md, section 4).

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect, open, restore, type Store } from '../index.js'
import { closedAfterEach, freePorts, tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { code } from './testing/small-test-functions.js'
import { openTrio } from './testing/three-embedded-members.js'

const folder = tempFolders()
const later = closedAfterEach()

async function filled(): Promise<{ store: Store; file: string; token: number }> {
  const store = later(await open({ id: 'a', dir: folder() }))
  await store.put('k', 'v')
  await store.getSequence('s', 7)
  const hold = await store.locks.acquire('held', { lease: '60s', context: 'why' })
  const fenced = await store.locks.acquire('fenced', { fencingKey: 'own' })
  await fenced.release()
  const file = `${folder()}.backup`
  expect(await store.backup(file)).toBeUndefined()
  expect(statSync(file).size).toBeGreaterThan(0)
  return { store, file, token: hold.token }
}

test('restore writes the directory and resolves to undefined; data, sequences and holds are restored', async () => {
  const { file, token } = await filled()
  const dir = folder()
  expect(await restore(file, { id: 'x', dir })).toBeUndefined()
  const store = later(await open({ id: 'x', dir }))
  expect(await store.get('k', { as: 'string' })).toBe('v')
  expect(await store.getSequence('s', 1)).toEqual({ start: 7, end: 8 })
  expect(await store.locks.query()).toMatchObject([{ fencingToken: token, context: 'why', waiters: 0 }])
  expect(await store.status()).toMatchObject({ id: 'x', role: 'leader', members: [{ id: 'x' }] })
})

test('K38: tokens after a restore are larger by 2^32 than every earlier token', async () => {
  const { store: old, file, token } = await filled()
  const after = await old.locks.acquire('later')
  const dir = folder()
  await restore(file, { id: 'x', dir })
  const store = later(await open({ id: 'x', dir }))
  const next = await store.locks.acquire('k')
  expect(next.token).toBeGreaterThan(after.token)
  expect(next.token).toBeGreaterThan(2 ** 32)
  expect(Number.isSafeInteger(next.token)).toBe(true)
  expect((await store.locks.acquire('f', { fencingKey: 'own' })).token).toBeGreaterThan(2 ** 32)
  expect((await store.locks.acquire('n', { fencingKey: 'never seen' })).token).toBeGreaterThan(2 ** 32)
  expect(await store.locks.forceRelease('held', token)).toBe(true)
  expect((await store.locks.acquire('held')).token).toBeGreaterThan(2 ** 32)
})

test('the restored cluster has a new id: an old client gets ERR_WRONG_CLUSTER', async () => {
  const [port] = await freePorts(1)
  const members = { a: `ws://127.0.0.1:${port}` }
  const first = await open({ id: 'a', dir: folder(), members })
  await first.put('k', 'v')
  const client = later(await connect([members.a]))
  await client.put('k', 'w')
  const hold = await client.locks.acquire('l', { lease: '60s' })
  const file = `${folder()}.backup`
  await first.backup(file)
  await first.close()
  const dir = folder()
  await restore(file, { id: 'a', dir, members })
  const second = later(await open({ id: 'a', dir, members }))
  await second.ready({ timeout: '30s' })
  await expect(client.put('k', 'x', { timeout: '30s' })).rejects.toMatchObject(code('ERR_WRONG_CLUSTER'))
  expect(await second.get('k', { as: 'string' })).toBe('w')
  expect(hold.token).toBeGreaterThan(0)
  const fresh = later(await connect([members.a]))
  await fresh.put('k', 'y')
})

test('restore refuses a directory in use or not empty, a damaged file, and bad options', async () => {
  const { file } = await filled()
  const dir = folder()
  await restore(file, { id: 'x', dir })
  await expect(restore(file, { id: 'x', dir })).rejects.toMatchObject({ name: 'LatchkeyError' })
  const store = later(await open({ id: 'x', dir }))
  await expect(restore(file, { id: 'x', dir })).rejects.toMatchObject(code('ERR_DIR_LOCKED'))
  await store.put('k', 'v')
  const damaged = `${folder()}.backup`
  writeFileSync(damaged, Buffer.alloc(10_000, 7))
  const error = await restore(damaged, { id: 'x', dir: folder() }).catch((error: unknown) => error)
  expect(error).toMatchObject(code('ERR_CORRUPT'))
  expect((error as Error).message).toContain(damaged.split('/').at(-1))
  for (const bad of [undefined, {}, { id: 'x' }, { dir: folder() }, { id: '', dir: folder() }])
    await expect(restore(file, bad as never)).rejects.toThrow(TypeError)
  await expect(restore('', { id: 'x', dir: folder() })).rejects.toThrow(TypeError)
})

test('a restore opens no port, so the addresses of the restored members may be on other machines', async () => {
  const { file } = await filled()
  const members = { a: 'wss://10.0.0.1:7001', b: 'wss://10.0.0.2:7001' }
  expect(await restore(file, { id: 'a', dir: folder(), members })).toBeUndefined()
})

test('restore into a cluster of three', async () => {
  const { file } = await filled()
  const ports = await freePorts(3)
  const members = Object.fromEntries(['a', 'b', 'c'].map((id, n) => [id, `ws://127.0.0.1:${ports[n]}`]))
  const root = folder()
  for (const id of Object.keys(members)) await restore(file, { id, dir: join(root, id), members })
  const stores = await Promise.all(
    Object.keys(members).map(async (id) =>
      later(await open({ id, dir: join(root, id), members, electionTimeout: 600, heartbeat: 50 })),
    ),
  )
  await Promise.all(stores.map((store) => store.ready({ timeout: '30s' })))
  expect(await stores[2]?.get('k', { as: 'string' })).toBe('v')
  await stores[1]?.put('k', 'w')
  expect(await stores[0]?.get('k', { as: 'string' })).toBe('w')
})

test('a backup of a cluster of three, through any of its members', async () => {
  const trio = later(await openTrio(folder()))
  const follower = await trio.follower()
  await follower.put('k', 'v')
  const file = `${folder()}.backup`
  await follower.backup(file)
  const dir = folder()
  await restore(file, { id: 'alone', dir })
  const store = later(await open({ id: 'alone', dir }))
  expect(await store.get('k', { as: 'string' })).toBe('v')
  await expect(follower.backup('/nowhere/at/all')).rejects.toMatchObject(
    code('ERR_STORAGE_FAILED', {
      outcome: 'not-applied',
      message: expect.stringMatching(/nowhere.*ENOENT.*then try again/),
    }),
  )
})

test('a backup replaces no existing file unless overwrite is given, and a failed one leaves no file', async () => {
  const store = later(await open({ id: 'a', memory: true }))
  await store.put('k', 'v')
  const dir = folder()
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'there')
  writeFileSync(file, 'mine')
  const refused = code('ERR_STORAGE_FAILED', {
    outcome: 'not-applied',
    message: expect.stringMatching(/file .* already.*overwrite: true.*--force/),
  })
  await expect(store.backup(file)).rejects.toMatchObject(refused)
  expect(readFileSync(file, 'utf8')).toBe('mine')
  // The file appears while the backup is being written.
  const second = join(dir, 'second')
  const progress = () => writeFileSync(second, 'mine too')
  await expect(store.backup(second, { progress })).rejects.toMatchObject(refused)
  expect(readFileSync(second, 'utf8')).toBe('mine too')
  await expect(
    store.backup(join(dir, 'third'), {
      progress: () => {
        throw new Error('enough')
      },
    }),
  ).rejects.toThrow('enough')
  expect(readdirSync(dir).toSorted()).toEqual(['second', 'there'])
  const seen: number[] = []
  await store.backup(file, { overwrite: true, progress: (bytes) => seen.push(bytes) })
  expect(seen.at(-1)).toBe(statSync(file).size)
  await restore(file, { id: 'x', dir: join(dir, 'x') })
  for (const bad of [{ overwrite: 1 }, { progress: 1 }])
    await expect(store.backup(join(dir, 'y'), bad as never)).rejects.toThrow(TypeError)
})

test('a backup needs the admin right, and is written on the caller’s machine, not at the member', async () => {
  const [port] = await freePorts(1)
  const members = { a: `ws://127.0.0.1:${port}` }
  const tokens = ['all', { token: 'reader', rights: ['read'] as const }]
  const member = later(await open({ id: 'a', memory: true, members, auth: { tokens, memberToken: 'm' } }))
  await member.put('k', 'v'.repeat(100_000))
  const reader = later(await connect([members.a], { token: 'reader' }))
  const file = `${folder()}.backup`
  await expect(reader.backup(file)).rejects.toMatchObject(code('ERR_FORBIDDEN'))
  expect(existsSync(file)).toBe(false)
  const admin = later(await connect([members.a], { token: 'all' }))
  await admin.backup(file)
  const dir = folder()
  await restore(file, { id: 'b', dir })
  expect((await later(await open({ id: 'b', dir })).get('k'))?.length).toBe(100_000)
})

test('if the member stops during a backup, the backup fails with an error and leaves no file', async () => {
  const [port] = await freePorts(1)
  const members = { a: `ws://127.0.0.1:${port}` }
  const member = await open({ id: 'a', memory: true, members })
  for (let n = 0; n < 8; n++) await member.put(`k${n}`, Buffer.alloc(900_000, n))
  const client = later(await connect([members.a]))
  const dir = folder()
  mkdirSync(dir, { recursive: true })
  let stopped: Promise<void> | undefined
  const progress = () => {
    stopped ??= member.close()
  }
  await expect(client.backup(join(dir, 'half'), { progress, timeout: '20s' })).rejects.toMatchObject(
    code('ERR_COMPACTED', { retryable: true, message: expect.stringMatching(/Start the backup again/) }),
  )
  await stopped
  expect(readdirSync(dir)).toEqual([])
})
