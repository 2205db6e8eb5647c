// Test: which member owns a directory, what a restore writes into it, and how long an open store keeps its
// process alive.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { RefusalLog, silentLogger, systemClock } from '@latchkey/base'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { open } from './open.js'
import { claimDirectory } from './member-json-file.js'
import { restore } from './directory-from-backup.js'
import { parseListen } from './options.js'
import { listen } from './http-and-websocket-server.js'
import { addresses } from './testing/free-ports.js'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'latchkey-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const FAST = { electionTimeout: 200, heartbeat: 40 }

test('a directory is of one member of one cluster', async () => {
  const dir = join(root, 'a')
  const store = await open({ id: 'a', dir, ...FAST })
  await store.put('k', 'v')
  await expect(open({ id: 'a', dir, ...FAST })).rejects.toMatchObject({ code: 'ERR_DIR_LOCKED' })
  await store.close()
  await expect(open({ id: 'b', dir })).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  await expect(open({ id: 'a', dir, cluster: 'other' })).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  const again = await open({ id: 'a', dir, ...FAST })
  expect(await again.get('k', { as: 'string' })).toBe('v')
  await again.close()
  await writeFile(join(dir, 'member.json'), 'x')
  await expect(open({ id: 'a', dir })).rejects.toMatchObject({
    code: 'ERR_CORRUPT',
    message: expect.stringContaining('member.json'),
  })
})

test('ERR_DIR_LOCKED also where the other worker has all the same options, its port with them', async () => {
  const options = { id: 'a', dir: join(root, 'a'), members: await addresses(['a']), ...FAST }
  const first = await open(options)
  await expect(open(options)).rejects.toMatchObject({ code: 'ERR_DIR_LOCKED' })
  await first.put('k', 'v')
  await first.close()
  const ends = await Promise.allSettled([open(options), open(options)])
  for (const end of ends) if (end.status === 'fulfilled') await end.value.close()
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'ERR_DIR_LOCKED' },
  })
})

test('a store that was opened alone grows by its address, which it is reopened with once', async () => {
  const dir = join(root, 'a')
  const alone = await open({ id: 'a', dir, ...FAST })
  await alone.put('k', 'v')
  await alone.close()
  const members = await addresses(['a', 'b'])
  const first = await open({ id: 'a', dir, members: { a: members.a }, ...FAST })
  await first.ready()
  await expect.poll(async () => (await first.status()).members).toMatchObject([{ id: 'a', url: members.a }])
  const second = await open({ id: 'b', dir: join(root, 'b'), members, join: true, ...FAST })
  await first.members.add('b', members.b)
  await second.ready()
  expect(await second.get('k', { as: 'string' })).toBe('v')
  await expect
    .poll(() =>
      first.members.promote('b').then(
        () => true,
        () => false,
      ),
    )
    .toBe(true)
  await second.close()
  await first.close()
})

test('D17: a cluster of three is restored, each member from the same file, and is another cluster', async () => {
  const file = join(root, 'backup')
  const old = await open({ id: 'x', memory: true, ...FAST })
  await old.put('k', 'v')
  const lock = await old.locks.acquire('l', { lease: '1s', renew: false })
  await old.backup(file)
  await old.close()
  const members = await addresses(['a', 'b', 'c'])
  const ids = ['a', 'b', 'c'] as const
  for (const id of ids) await restore(file, { id, dir: join(root, id), members, cluster: 'new' })
  await expect(restore(file, { id: 'a', dir: join(root, 'a'), members })).rejects.toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
  })
  await expect(open({ id: 'a', dir: join(root, 'a'), members })).rejects.toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
  })
  const stores = await Promise.all(
    ids.map((id) => open({ id, dir: join(root, id), members, cluster: 'new', ...FAST })),
  )
  await Promise.all(stores.map((store) => store.ready()))
  for (const store of stores) expect(await store.get('k', { as: 'string' })).toBe('v')
  const again = await stores[0]?.locks.acquire('l', { lease: '30s', wait: '30s' })
  expect(again?.token).toBeGreaterThan(lock.token)
  await Promise.all(stores.map((store) => store.close()))
})

test('a restore that fails leaves no directory behind, and one that was there as it was', async () => {
  const garbage = join(root, 'garbage')
  await writeFile(garbage, 'no backup')
  for (const path of [join(root, 'absent'), garbage])
    await expect(restore(path, { id: 'a', dir: join(root, 'new') })).rejects.toThrow()
  expect(await readdir(root)).toEqual(['garbage'])
  await mkdir(join(root, 'old'))
  await expect(restore(garbage, { id: 'a', dir: join(root, 'old') })).rejects.toMatchObject({
    code: 'ERR_CORRUPT',
  })
  expect(await readdir(root)).toEqual(['garbage', 'old'])
})

test('nothing is restored into a directory that is not empty, whatever is in it', async () => {
  const file = join(root, 'backup')
  const old = await open({ id: 'x', memory: true, ...FAST })
  await old.put('k', 'v')
  await old.backup(file)
  await old.close()
  const dir = join(root, 'used')
  await mkdir(dir)
  await writeFile(join(dir, 'note'), 'mine')
  await expect(restore(file, { id: 'a', dir })).rejects.toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
    message: expect.stringMatching(/not empty.*note.*empty or new/),
  })
  expect(await readdir(dir)).toEqual(['note'])
  await rm(join(dir, 'note'))
  // What a file system makes at the place where it is mounted is nobody's.
  await mkdir(join(dir, 'lost+found'))
  await restore(file, { id: 'a', dir })
  const store = await open({ id: 'a', dir, ...FAST })
  expect(await store.get('k', { as: 'string' })).toBe('v')
  await store.close()
})

test('a flipped bit in member.json is damage, and never taken for another member', async () => {
  const dir = join(root, 'a')
  await (await open({ id: 'a', dir, ...FAST })).close()
  const path = join(dir, 'member.json')
  const good = await readFile(path)
  for (let bit = 0; bit < good.length * 8; bit++) {
    const bad = Buffer.from(good)
    bad[bit >> 3] = (bad[bit >> 3] as number) ^ (1 << (bit & 7))
    await writeFile(path, bad)
    await expect(claimDirectory(dir, { id: 'a', cluster: 'latchkey' }), `bit ${bit}`).rejects.toMatchObject({
      code: 'ERR_CORRUPT',
      message: expect.stringMatching(/member\.json.*delete the file/),
    })
  }
  await writeFile(path, good)
  await (await open({ id: 'a', dir, ...FAST })).close()
})

// Without this law: after an update, no member opens its directory.
test('member.json of an earlier build is read, byte for byte, also if its checksum begins with 0', async () => {
  const line =
    '{"version":2,"id":"a","cluster":"cluster-22","born":"2026-01-01T00:00:00.000Z","known":["b ws://127.0.0.1:7002"],"checksum":"0d5bd5a2"}'
  await writeFile(join(root, 'member.json'), `${line}\n`)
  const own = await claimDirectory(root, { id: 'a', cluster: 'cluster-22' })
  expect(own.knows('b', 'ws://127.0.0.1:7002')).toBe(true)
  await own.learn({})
  expect(await readFile(join(root, 'member.json'), 'utf8')).toBe(`${line}\n`)
  await own.learn({ c: 'ws://127.0.0.1:7003' })
  const again = await claimDirectory(root, { id: 'a', cluster: 'cluster-22' })
  expect([again.knows('b', 'ws://127.0.0.1:7002'), again.knows('c', 'ws://127.0.0.1:7003')]).toEqual([
    true,
    true,
  ])
})

test('a directory that others could read is closed to them at the start, and the log says so once', async () => {
  const dir = join(root, 'a')
  await mkdir(dir, { mode: 0o755 })
  const said: string[] = []
  const logger = { debug() {}, info() {}, warn: (line: string) => said.push(line), error() {} }
  await (await open({ id: 'a', dir, logger, ...FAST })).close()
  expect((await stat(dir)).mode & 0o777).toBe(0o700)
  await (await open({ id: 'a', dir, logger, ...FAST })).close()
  expect(said.filter((line) => line.includes('0700'))).toHaveLength(1)
})

test('a member of a grown cluster that is opened without members is where the others look for it', async () => {
  const members = await addresses(['a', 'b'])
  const first = await open({ id: 'a', dir: join(root, 'a'), members: { a: members.a }, ...FAST })
  const joining = { id: 'b', dir: join(root, 'b'), ...FAST }
  const second = await open({ ...joining, members, join: true })
  await first.members.add('b', members.b)
  await expect
    .poll(() => first.members.promote('b').catch((error: { code: string }) => error.code))
    .toBeUndefined()
  await second.close()
  const again = await open(joining)
  await again.ready({ timeout: '30s' })
  // Two voters: a write needs both.
  await first.put('k', 'v')
  expect(await again.get('k', { as: 'string' })).toBe('v')
  await again.close()
  // The other member looks for this one there, and is sent away: a connection that nobody reads would keep
  // the listener open.
  const clock = systemClock(uptime)
  const taken = await listen(parseListen(members.b.slice('ws://'.length)), {
    tls: undefined,
    clock,
    refusals: new RefusalLog({ clock, logger: silentLogger }),
    upgrade: (_, socket) => void socket.destroy(),
  })
  await expect(open(joining)).rejects.toMatchObject({ code: 'ERR_BUSY' })
  await taken.close()
  // The failed opening has left the directory.
  const last = await open(joining)
  await last.close()
  await first.close()
})

test('an address that is taken is refused before anything on disk is touched', async () => {
  const members = await addresses(['a'])
  const first = await open({ id: 'a', memory: true, members, ...FAST })
  await expect(open({ id: 'a', dir: join(root, 'a'), members, ...FAST })).rejects.toMatchObject({
    code: 'ERR_BUSY',
    message: expect.stringContaining(new URL(members.a).host),
    cause: { code: 'EADDRINUSE' },
  })
  expect(await readdir(root)).toEqual([])
  await first.close()
})

test('T9: an open store keeps the process alive until it is closed, one in memory without a port too', async () => {
  const index = new URL('../../dist/index.js', import.meta.url).href
  const script = (end: string) => `
    const { open } = await import(${JSON.stringify(index)})
    const store = await open({ id: 'a', memory: true })
    await store.put('k', 'v')
    process.on('exit', () => console.log('exit', Math.round(performance.now() - began)))
    const began = performance.now()
    ${end}`
  const run = (end: string) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script(end)], { timeout: 50_000 })
  const closed = await run('await store.close()')
  expect(Number(closed.stdout.split(' ')[1])).toBeLessThan(30_000)
  const open_ = await run('setTimeout(() => process.exit(0), 1_500).unref()')
  expect(Number(open_.stdout.split(' ')[1])).toBeGreaterThan(1_400)
  const locked = await run("await store.locks.acquire('l', { lease: '1h' }); await store.close()")
  expect(Number(locked.stdout.split(' ')[1])).toBeLessThan(30_000)
})
