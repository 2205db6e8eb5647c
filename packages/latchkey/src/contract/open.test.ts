// Test: the sections "Open" and "Connect" of docs/api.md.

import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { As, ConnectOptions, OpenOptions, Store } from '../index.js'
import { connect, open, restore } from '../index.js'
import { freePorts, tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { activeMillis, code, sleep, until } from './testing/small-test-functions.js'

const folder = tempFolders()
const opened: Store<As>[] = []
const opening = async <S extends As = 'bytes'>(options: OpenOptions<S>): Promise<Store<S>> => {
  const store = await open(options)
  opened.push(store)
  return store
}
const connecting = async <S extends As = 'bytes'>(
  urls: readonly string[],
  options?: ConnectOptions<S>,
): Promise<Store<S>> => {
  const store = await connect(urls, options)
  opened.push(store)
  return store
}
afterEach(async () => {
  for (const store of opened.splice(0).reverse()) await store.close()
})
const QUICK = { electionTimeout: 200, heartbeat: 20 }
const url = async () => `ws://127.0.0.1:${(await freePorts(1))[0]}`

test('bad options: a TypeError that names the option, before anything is opened', async () => {
  const dir = folder()
  const a = 'ws://127.0.0.1:7001'
  const table: [string, object | undefined][] = [
    ['options', undefined],
    ['id', { dir }],
    ['id', { id: '', dir }],
    ['dir', { id: 'a' }],
    ['dir', { id: 'a', dir: '' }],
    ['dir', { id: 'a', dir, memory: true }],
    ['members', { id: 'a', dir, members: [] }],
    ['members', { id: 'a', dir, members: { b: a } }],
    ['members', { id: 'a', dir, members: { a: 'http://x' } }],
    ['listen', { id: 'a', dir, members: { a }, listen: 'nowhere' }],
    ['listen', { id: 'a', dir, members: { a }, listen: '0.0.0.0:7001' }],
    ['electionTimeout', { id: 'a', dir, electionTimeout: -1 }],
    ['electionTimeout', { id: 'a', dir, electionTimeout: '1s' }],
    ['heartbeat', { id: 'a', dir, heartbeat: 0 }],
    ['join', { id: 'a', dir, join: 'yes' }],
    ['drift', { id: 'a', dir, drift: -1 }],
    ['sessionLife', { id: 'a', dir, sessionLife: 0 }],
    ['sessionLife', { id: 'a', dir, sessionLife: '30' }],
    ['snapshot', { id: 'a', dir, snapshot: 7 }],
    ['everyEntries', { id: 'a', dir, snapshot: { everyEntries: -1 } }],
    ['everyBytes', { id: 'a', dir, snapshot: { everyBytes: 0 } }],
    ['maxInFlightBytes', { id: 'a', dir, maxInFlightBytes: 'x' }],
    ['maxInFlightBytes', { id: 'a', dir, maxInFlightBytes: 0 }],
    ['logger', { id: 'a', dir, logger: {} }],
    ['signal', { id: 'a', dir, signal: {} }],
    ['tls', { id: 'a', dir, tls: {} }],
    ['auth', { id: 'a', dir, auth: {} }],
    ['cluster', { id: 'a', dir, cluster: '' }],
    ['as', { id: 'a', dir, as: 'xml' }],
    ['colour', { id: 'a', dir, colour: 'red' }],
    ['toString', { id: 'a', dir, toString: 1 }],
    ['dir', { id: 'a', dir: 'a\0b' }],
    ['snapshot', { id: 'a', dir, snapshot: [] }],
    ['every', { id: 'a', dir, snapshot: { every: 5 } }],
    ['everyBytes', { id: 'a', dir, snapshot: { everyBytes: null } }],
    ['auth', { id: 'a', dir, auth: { tokens: [null] } }],
    ...[
      'electionTimeout',
      'heartbeat',
      'drift',
      'sessionLife',
      'maxInFlightBytes',
      'cluster',
      'logger',
      'as',
    ].map((name): [string, object] => [name, { id: 'a', dir, [name]: null }]),
  ]
  for (const [name, options] of table) {
    const error = await open(options as never).catch((error: unknown) => error)
    expect([options, error]).toEqual([options, expect.any(TypeError)])
    expect((error as Error).message).toContain(name)
  }
  expect(() => readdirSync(dir)).toThrow()
})

test('ERR_STORAGE_FAILED: the error for an unusable directory says why and what to do next, and nothing runs', async () => {
  const file = folder()
  writeFileSync(file, 'a file')
  for (const dir of [file, join(file, 'below')])
    await expect(open({ id: 'a', dir })).rejects.toMatchObject(
      code('ERR_STORAGE_FAILED', {
        outcome: 'not-applied',
        message: expect.stringMatching(/Check the path/),
      }),
    )
  await expect(restore(join(file, 'no backup'), { id: 'a', dir: folder() })).rejects.toMatchObject(
    code('ERR_STORAGE_FAILED', { outcome: 'not-applied', message: expect.stringMatching(/Check the path/) }),
  )
})

const NULLS = ['token', 'cluster', 'timeout', 'tls', 'as', 'sessionLife', 'drift', 'signal'].map((name) => ({
  [name]: null,
}))

test('connect: bad arguments are a TypeError', async () => {
  for (const urls of [undefined, [], [''], ['http://x'], 7, {}])
    await expect(connect(urls as never)).rejects.toThrow(TypeError)
  for (const options of [
    7,
    { token: 7 },
    { timeout: 0 },
    { colour: 1 },
    { as: 'xml' },
    { signal: {} },
    ...NULLS,
  ])
    await expect(connect(['ws://127.0.0.1:1'], options as never)).rejects.toThrow(TypeError)
})

test('members omitted: a cluster of one, no port opened', async () => {
  const store = await opening({ id: 'a', dir: folder() })
  await store.ready()
  expect(await store.status()).toMatchObject({ id: 'a', role: 'leader', leader: 'a', members: [{ id: 'a' }] })
  await store.put('k', 'v')
})

test('await using closes', async () => {
  const dir = folder()
  let kept: Store
  {
    await using store = await open({ id: 'a', dir })
    kept = store
    await store.put('k', 'v')
  }
  await expect(kept.get('k')).rejects.toMatchObject(code('ERR_CLOSED'))
  const again = await opening({ id: 'a', dir })
  expect(await again.get('k', { as: 'string' })).toBe('v')
})

test('a restart keeps data, revisions, sequences, locks and tokens (K15, E21)', async () => {
  const dir = folder()
  const first = await open({ id: 'a', dir })
  const { revision } = await first.put('k', 'v')
  await first.getSequence('s', 5)
  const hold = await first.locks.acquire('held', { lease: '60s', context: 'why' })
  const gone = await first.locks.acquire('gone')
  await gone.release()
  await first.close({ holds: 'keep' })
  const second = await opening({ id: 'a', dir })
  expect(await second.getEntry('k', { as: 'string' })).toMatchObject({ value: 'v', modRevision: revision })
  expect((await second.put('k', 'w')).revision).toBe(revision + 1)
  expect(await second.getSequence('s', 1)).toEqual({ start: 5, end: 6 })
  expect(await second.locks.query('held')).toMatchObject([{ fencingToken: hold.token, context: 'why' }])
  expect(await second.locks.tryAcquire('held')).toBeUndefined()
  const next = await second.locks.acquire('gone')
  expect(next.token).toBeGreaterThan(gone.token)
})

test('a watch can begin before a restart', async () => {
  const dir = folder()
  const first = await open({ id: 'a', dir })
  const { revision } = await first.put('k', '1')
  await first.put('k', '2')
  await first.close()
  const second = await opening({ id: 'a', dir })
  const watch = second.watch({ key: 'k', from: revision }, { as: 'string' })
  expect([(await watch.next()).value?.value, (await watch.next()).value?.value]).toEqual(['1', '2'])
})

test('the message of ERR_DIR_LOCKED says what to do with several workers on one host', async () => {
  const dir = folder()
  const first = await opening({ id: 'a', dir })
  const error = await open({ id: 'a', dir }).catch((error: unknown) => error)
  expect(error).toMatchObject(code('ERR_DIR_LOCKED', { outcome: 'not-applied' }))
  expect((error as Error).message).toMatch(/director|folder/i)
  expect((error as Error).message).toMatch(/sidecar/i)
  await first.put('k', 'v')
  await first.close()
  await opening({ id: 'a', dir })
})

test('ERR_WRONG_CLUSTER: a directory of another member', async () => {
  const dir = folder()
  await (await open({ id: 'a', dir })).close()
  await expect(open({ id: 'b', dir })).rejects.toMatchObject(code('ERR_WRONG_CLUSTER'))
  const again = await opening({ id: 'a', dir })
  await again.put('k', 'v')
})

test('ERR_WRONG_CLUSTER: a directory of another cluster', async () => {
  const dir = folder()
  await (await open({ id: 'a', dir, cluster: 'one' })).close()
  await expect(open({ id: 'a', dir, cluster: 'two' })).rejects.toMatchObject(code('ERR_WRONG_CLUSTER'))
  await opening({ id: 'a', dir, cluster: 'one' })
})

test('cluster: clients with another cluster name get ERR_WRONG_CLUSTER at once', async () => {
  const at = await url()
  await opening({ id: 'a', memory: true, members: { a: at }, cluster: 'red' })
  const took = await activeMillis(async () => {
    for (const options of [{}, { cluster: 'blue' }])
      await expect(connect([at], { ...options, timeout: '30s' })).rejects.toMatchObject(
        code('ERR_WRONG_CLUSTER'),
      )
  })
  expect(took).toBeLessThan(4_000)
  const store = await connecting([at], { cluster: 'red' })
  await store.put('k', 'v')
})

test('connect: ERR_NO_LEADER if no member is reached within the timeout', async () => {
  const began = performance.now()
  await expect(connect([await url()], { timeout: '300ms' })).rejects.toMatchObject(
    code('ERR_NO_LEADER', { outcome: 'not-applied', retryable: true }),
  )
  expect(performance.now() - began).toBeGreaterThanOrEqual(290)
})

test('connect: ERR_ABORTED by its signal', async () => {
  const controller = new AbortController()
  const trying = connect([await url()], { signal: controller.signal })
  controller.abort('why')
  await expect(trying).rejects.toMatchObject(code('ERR_ABORTED', { cause: 'why' }))
  await expect(open({ id: 'a', memory: true, signal: AbortSignal.abort('why') })).rejects.toMatchObject(
    code('ERR_ABORTED', { cause: 'why' }),
  )
})

test('tokens: ERR_UNAUTHORIZED at once without a token or with a wrong one, ERR_FORBIDDEN without the right', async () => {
  const at = await url()
  const auth = { tokens: ['all', { token: 'reader', rights: ['read'] as const }] }
  await opening({ id: 'a', memory: true, members: { a: at }, auth })
  await expect(connect([at])).rejects.toMatchObject(code('ERR_UNAUTHORIZED'))
  await expect(connect([at], { token: 'wrong' })).rejects.toMatchObject(code('ERR_UNAUTHORIZED'))
  const all = await connecting([at], { token: 'all' })
  await all.put('k', 'v')
  const reader = await connecting([at], { token: 'reader' })
  expect(await reader.get('k', { as: 'string' })).toBe('v')
  await expect(reader.put('k', 'w')).rejects.toMatchObject(code('ERR_FORBIDDEN', { outcome: 'not-applied' }))
  await expect(reader.locks.tryAcquire('l')).rejects.toMatchObject(code('ERR_FORBIDDEN'))
  await expect(reader.snapshot()).rejects.toMatchObject(code('ERR_FORBIDDEN'))
  await expect(reader.members.remove('a')).rejects.toMatchObject(code('ERR_FORBIDDEN'))
})

test('as: the default of a store, for open and connect', async () => {
  const at = await url()
  const store = await opening({ id: 'a', memory: true, members: { a: at }, as: 'string' })
  const remote = await connecting([at], { as: 'json' })
  await store.put('k', '[1]')
  expect(await store.get('k')).toBe('[1]')
  expect(await store.get('k', { as: 'bytes' })).toHaveLength(3)
  expect(await remote.get('k')).toEqual([1])
  expect(await remote.scan()).toEqual([{ key: 'k', value: [1] }])
  await store.locks.acquire('lock')
  expect((await store.locks.query())[0]?.key).toBe('lock')
})

test('close() is idempotent, and every call afterwards is ERR_CLOSED', async () => {
  const at = await url()
  const embedded = await opening({ id: 'a', memory: true, members: { a: at } })
  const remote = await connecting([at])
  for (const [name, store] of Object.entries({ remote, embedded })) {
    const hold = await store.locks.acquire(`held by ${name}`)
    const watch = store.watch({ key: 'k' })
    const next = watch.next()
    const over = expect(next).rejects.toMatchObject(code('ERR_CLOSED'))
    const lock = store.getDistributedLock('l', '10s')
    await Promise.all([store.close(), store.close()])
    await store.close()
    await over
    for (const call of [
      () => store.get('k'),
      () => store.multiGet([]),
      () => store.scan({ limit: 0 }),
      () => store.keys({ gte: 'b', lt: 'a' }).next(),
      () => store.put('k', 'v'),
      () => store.scan(),
      () => store.keys().next(),
      () => store.status(),
      () => store.ready(),
      () => store.locks.acquire('x'),
      () => store.locks.tryAcquire('x'),
      () => store.locks.query(),
      () => lock.tryLock(),
      () => lock.lock(),
      () => lock.tryLock({ timeout: 100 }),
      () => store.tryLockWith('x', null, false, { id: 'i', lease: 100 }),
      () => store.members.promote('x'),
      () => store.snapshot(),
      () => store.watch({ key: 'x' }).next(),
      () => hold.kv.put('k', 'v'),
    ])
      await expect(call()).rejects.toMatchObject(code('ERR_CLOSED'))
    for (const locking of [store.locks.acquire('x'), store.locks.tryAcquire('x'), lock.tryLock()])
      await expect(locking).rejects.toMatchObject({ message: expect.stringContaining('store is closed') })
  }
})

test('small limits are allowed: a call succeeds or is ERR_BUSY, and later calls succeed again', async () => {
  const dir = folder()
  const small = { id: 'a', dir, maxInFlightBytes: 1_000, snapshot: { everyEntries: 1, everyBytes: 1 } }
  const store = await opening(small)
  await store.put('large', 'x'.repeat(1024 * 1024))
  const ended = await Promise.allSettled(
    Array.from({ length: 300 }, (_, n) => store.put(`k${n}`, 'x'.repeat(200), { timeout: '40s' })),
  )
  for (const [n, end] of ended.entries()) {
    if (end.status === 'rejected')
      expect(end.reason).toMatchObject(code('ERR_BUSY', { retryable: true, outcome: 'not-applied' }))
    expect(await store.containsKey(`k${n}`)).toBe(end.status === 'fulfilled')
  }
  await store.close()
  const again = await opening(small)
  expect(await again.get('large', { as: 'string' })).toHaveLength(1024 * 1024)
})

test('several stores in one process', async () => {
  const stores = await Promise.all([1, 2, 3].map(() => opening({ id: 'a', dir: folder() })))
  await Promise.all(stores.map((store, n) => store.put('k', `${n}`)))
  expect(await Promise.all(stores.map((store) => store.get('k', { as: 'string' })))).toEqual(['0', '1', '2'])
  const holds = await Promise.all(stores.map((store) => store.locks.acquire('k')))
  expect(holds.every((hold) => hold.held)).toBe(true)
})

test('members is used at the first start only; a store opened without it can be reopened with its own url and grow', async () => {
  const dir = folder()
  const [a, b] = [await url(), await url()]
  const alone = await open({ id: 'a', dir, ...QUICK })
  await alone.put('k', 'v')
  await alone.close()
  const grown = await opening({ id: 'a', dir, members: { a }, ...QUICK })
  expect(await grown.get('k', { as: 'string' })).toBe('v')
  await until(async () => (await grown.status()).members[0]?.url === a)
  const second = await opening({ id: 'b', dir: folder(), members: { a, b }, join: true, ...QUICK })
  await grown.members.add('b', b)
  await second.ready({ timeout: '30s' })
  expect(await second.get('k', { as: 'string' })).toBe('v')
  await until(
    async () =>
      grown.members.promote('b').then(
        () => true,
        () => false,
      ),
    () => sleep(50),
  )
  expect((await second.status()).members.map(({ id, role }) => [id, role])).toEqual([
    ['a', 'voter'],
    ['b', 'voter'],
  ])
  await second.put('k', 'w')
})

test('open: ERR_ABORTED by a signal during the opening; the directory is free again', async () => {
  const dir = folder()
  const controller = new AbortController()
  const trying = open({ id: 'a', dir, signal: controller.signal })
  controller.abort('why')
  await expect(trying).rejects.toMatchObject(code('ERR_ABORTED', { cause: 'why', outcome: 'not-applied' }))
  const later = new AbortController()
  const store = await opening({ id: 'a', dir, signal: later.signal })
  later.abort()
  await store.put('k', 'v')
})

test('ERR_CORRUPT names file, offset and what to do next; nothing is served', async () => {
  const dir = folder()
  const store = await open({ id: 'a', dir })
  for (let n = 0; n < 200; n++) await store.put(`k${n}`, 'x'.repeat(100))
  await store.close()
  const log = join(dir, 'log')
  const [segment] = readdirSync(log).filter((file) => statSync(join(log, file)).size > 10_000)
  const file = join(log, segment as string)
  const good = readFileSync(file)
  const bad = Buffer.from(good)
  bad.writeUInt8(bad.readUInt8(5_000) ^ 0x10, 5_000)
  writeFileSync(file, bad)
  const error = await open({ id: 'a', dir }).catch((error: unknown) => error)
  expect(error).toMatchObject(code('ERR_CORRUPT', { retryable: false }))
  expect((error as Error).message).toContain(segment)
  expect((error as Error).message.replace(segment as string, '')).toMatch(/\d/)
  expect((error as Error).message).toMatch(/rebuild|restore|remove|empty/i)
  writeFileSync(file, good)
  const again = await opening({ id: 'a', dir })
  expect(await again.get('k199', { as: 'string' })).toBe('x'.repeat(100))
})

test('a port in use: open rejects, and the directory is free again', async () => {
  const at = await url()
  await opening({ id: 'a', memory: true, members: { a: at } })
  const dir = folder()
  const refused = open({ id: 'a', dir, members: { a: at } })
  await expect(refused).rejects.toThrow(/EADDRINUSE/)
  await expect(refused).rejects.toMatchObject(code('ERR_BUSY', { retryable: true }))
  await opening({ id: 'a', dir, members: { a: at }, listen: '127.0.0.1:0' })
})
