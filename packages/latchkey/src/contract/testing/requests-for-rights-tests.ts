// Driver: each call of a store and each HTTP route, as a request that can be sent with any credentials.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@latchkey/client'
import { ROUTE_EXAMPLES } from '../../http/testing/route-examples.js'

/** Makes one call. All keys and locks of the call begin with the prefix `at`. */
type StoreRow = (store: Store, at: string) => Promise<unknown>
interface HttpRow {
  readonly method: string
  path(at: string): string
  body?(at: string): string
  readonly isStream: boolean
}

const first = async (items: AsyncIterableIterator<unknown>): Promise<unknown> => {
  const next = await items.next()
  await items.return?.()
  return next.value
}
const range = (at: string) => ({ prefix: at })
/**
 * The name of a member and of a holder that do not exist. An allowed request then fails with an error about
 * the name, and not with ERR_FORBIDDEN.
 */
const NOBODY = 'nobody'
const NOWHERE = 'ws://127.0.0.1:1'
const NO_SESSION = 1
const acquirer = { id: 'rights', lease: '10s' } as const

async function withFile<T>(run: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-rights-'))
  return run(join(folder, 'backup')).finally(() => rmSync(folder, { recursive: true }))
}

async function locking(store: Store, at: string): Promise<unknown> {
  const hold = await store.locks.acquire(`${at}l`, { wait: '20s' })
  return hold.release()
}

async function locked(store: Store, at: string): Promise<unknown> {
  const lock = store.getDistributedLock(`${at}d`, '10s')
  await lock.tryLock()
  return lock.unlock()
}

export const STORE_ROWS: Readonly<Record<string, StoreRow>> = {
  get: (store, at) => store.get(`${at}k`),
  multiGet: (store, at) => store.multiGet([`${at}k`, `${at}j`]),
  containsKey: (store, at) => store.containsKey(`${at}k`),
  getEntry: (store, at) => store.getEntry(`${at}k`),
  scan: (store, at) => store.scan(range(at)),
  entries: (store, at) => first(store.entries(range(at))),
  keys: (store, at) => first(store.keys(range(at))),
  values: (store, at) => first(store.values(range(at))),
  'scan, with limit 0': (store, at) => store.scan({ prefix: at, limit: 0 }),
  'scan, of an empty range': (store, at) => store.scan({ gte: `${at}b`, lt: `${at}a` }),
  'entries, with limit 0': (store, at) => first(store.entries({ prefix: at, limit: 0 })),
  'keys, with limit 0': (store, at) => first(store.keys({ prefix: at, limit: 0 })),
  'values, of an empty range': (store, at) => first(store.values({ gte: `${at}b`, lt: `${at}a` })),
  'multiGet, of nothing': (store) => store.multiGet([]),
  getLatestSequence: (store, at) => store.getLatestSequence(`${at}s`),
  watch: (store, at) => first(store.watch({ prefix: at, from: 1 })),
  'watch, with what is there': (store, at) => first(store.watch(range(at), { initial: true })),
  'locks.watch': async (store, at) => {
    const watch = store.locks.watch({ prefix: `${at}l` })
    const next = watch.next()
    next.catch(() => {})
    // A member answers requests in their order, so a refused watch has ended when this answer arrives.
    await store.locks.query(`${at}l`).catch(() => {})
    await watch.return?.()
    return next
  },
  mirror: async (store, at) => (await store.mirror(range(at))).close(),
  'sub, and a scan of it': (store, at) => store.sub(at).scan(),
  'sub, and a put into it': (store, at) => store.sub(at).put('k', 'v'),
  'sub, and a latch of it': (store, at) => store.sub(at).latches.create('s', 1),
  'sub, and a lock of it': async (store, at) => (await store.sub(at).locks.tryAcquire('s'))?.release(),
  put: (store, at) => store.put(`${at}k`, 'v'),
  'put, under a guard': (store, at) => store.put(`in/k`, 'v', { guard: { key: `${at}none`, token: 1 } }),
  putAll: (store, at) => store.putAll([[`${at}k`, 'v']]),
  putIfAbsent: (store, at) => store.putIfAbsent(`${at}k`, 'v'),
  getAndPut: (store, at) => store.getAndPut(`${at}k`, 'v'),
  compareAndPut: (store, at) => store.compareAndPut(`${at}k`, 'v', 'w'),
  compareAndPutAll: (store, at) => store.compareAndPutAll([{ key: `${at}k`, expect: 'v', update: 'w' }]),
  merge: (store, at) => store.merge(`${at}m`, 'v'),
  'put, with a ttl': (store, at) => store.put(`${at}k`, 'v', { ttl: '1h' }),
  touch: (store, at) => store.touch(`${at}k`, '1h'),
  increment: (store, at) => store.increment(`${at}n`),
  'batch, with an increment': (store, at) => store.batch([{ type: 'increment', key: `${at}n` }]),
  'txn, with an increment': (store, at) => store.txn({ then: [{ type: 'increment', key: `${at}n` }] }),
  'txn, on a value as a number': (store, at) =>
    store.txn({ when: [{ key: `${at}n`, value: 1, as: 'number' }] }),
  delete: (store, at) => store.delete(`${at}m`),
  deleteAll: (store, at) => store.deleteAll([`${at}m`]),
  deleteRange: (store, at) => store.deleteRange(`${at}m`, `${at}n`),
  batch: (store, at) => store.batch([{ type: 'put', key: `${at}k`, value: 'v' }]),
  'batch, with a deleteRange': (store, at) =>
    store.batch([{ type: 'deleteRange', start: `${at}m`, end: `${at}n` }]),
  'putAll, of nothing': (store) => store.putAll([]),
  'compareAndPutAll, of nothing': (store) => store.compareAndPutAll([]),
  'deleteAll, of nothing': (store) => store.deleteAll([]),
  'deleteRange, of an empty range': (store, at) => store.deleteRange(`${at}b`, `${at}a`),
  'batch, of nothing': (store) => store.batch([]),
  'txn, of nothing': (store) => store.txn({}),
  txn: (store, at) => store.txn({ then: [{ type: 'put', key: `${at}k`, value: 'v' }] }),
  'txn, with a get': (store, at) => store.txn({ then: [{ type: 'get', key: `${at}k` }] }),
  'txn, on a value by =': (store, at) => store.txn({ when: [{ key: `${at}k`, value: 'v' }] }),
  'txn, on a value by <': (store, at) => store.txn({ when: [{ key: `${at}k`, is: '<', value: 'v' }] }),
  'txn, on a value by >': (store, at) => store.txn({ when: [{ key: `${at}k`, is: '>', value: 'v' }] }),
  'txn, on a version by <': (store, at) =>
    store.txn({ when: [{ key: `${at}k`, field: 'version', is: '<', value: 9 }] }),
  'txn, on a lock': (store, at) => store.txn({ when: [{ lock: `${at}l`, token: 1 }] }),
  getSequence: (store, at) => store.getSequence(`${at}s`, 1),
  resetSequence: (store, at) => store.resetSequence(`${at}s`),
  getDistributedLock: locked,
  tryLockWith: (store, at) => store.tryLockWith(`${at}w`, null, false, acquirer),
  'tryLockWith, with a fencing key': (store, at) => store.tryLockWith('in/f', `${at}f`, false, acquirer),
  releaseLockWith: (store, at) => store.releaseLockWith(`${at}w`, acquirer),
  'locks.acquire': locking,
  'locks.tryAcquire': async (store, at) => (await store.locks.tryAcquire(`${at}t`))?.release(),
  'locks.acquireAll': async (store, at) =>
    (await store.locks.acquireAll([`${at}1`, `${at}2`], { wait: '20s' })).release(),
  'locks.tryAcquireAll': async (store, at) =>
    (await store.locks.tryAcquireAll([`${at}3`, `${at}4`]))?.release(),
  'locks.withLock': (store, at) => store.locks.withLock(`${at}l`, { wait: '20s' }, async () => {}),
  'locks.query': (store, at) => store.locks.query(at),
  'locks.history': (store, at) => store.locks.history(`${at}l`),
  'locks.forceRelease': (store, at) => store.locks.forceRelease(`${at}none`, 1),
  'locks.releaseAll': (store) => store.locks.releaseAll(),
  'semaphores.acquire': async (store, at) =>
    (await store.semaphores.acquire(`${at}sem`, { of: 9, wait: '20s' })).release(),
  'semaphores.tryAcquire': async (store, at) =>
    (await store.semaphores.tryAcquire(`${at}sem`, { of: 9 }))?.release(),
  'semaphores.resize': (store, at) => store.semaphores.resize(`${at}sized`, 3),
  'semaphores.query': (store, at) => store.semaphores.query(at),
  'elections.campaign': async (store, at) =>
    (await store.elections.campaign(`${at}led`, { wait: '20s' })).resign(),
  'webLocks.request': (store, at) => store.webLocks.request(`${at}web`, () => {}),
  'webLocks.query': (store) => store.webLocks.query(),
  'elections.leader': (store, at) => store.elections.leader(`${at}led`),
  'elections.observe': async (store, at) => {
    for await (const event of store.elections.observe(`${at}led`)) return event
    return undefined
  },
  'latches.query': (store, at) => store.latches.query(at),
  'barriers.query': (store, at) => store.barriers.query(at),
  'latches.create': (store, at) => store.latches.create(`${at}h`, 1),
  'latches.countDown': (store, at) => store.latches.countDown(`${at}h`),
  'latches.wait': (store, at) => store.latches.wait(`${at}h`, { timeout: '20s' }),
  'latches.remove': (store, at) => store.latches.remove(`${at}h`),
  'barriers.enter': (store, at) => store.barriers.enter(`${at}h`, { parties: 1 }),
  ready: (store) => store.ready(),
  status: (store) => store.status(),
  metrics: (store) => store.metrics(),
  snapshot: (store) => store.snapshot(),
  backup: (store) => withFile((file) => store.backup(file)),
  transferLeadership: (store) => store.transferLeadership(NOBODY),
  'members.add': (store) => store.members.add('a', NOWHERE),
  'members.promote': (store) => store.members.promote(NOBODY),
  'members.update': (store) => store.members.update(NOBODY, NOWHERE),
  'members.remove': (store) => store.members.remove(NOBODY),
  'members.rebuild': (store) => store.members.rebuild(NOBODY),
  'sessions.list': (store) => store.sessions.list(),
  'sessions.end': (store) => store.sessions.end(NO_SESSION),
}

/** The methods that send no request to a member. */
export const NO_CALLS: readonly string[] = [
  'close',
  'reload',
  'on',
  'once',
  'off',
  'addListener',
  'removeListener',
  'appliedOnce',
]

/** Returns the names of all methods of the store and of its objects, such as 'locks.acquire'. */
export function callsOf(store: Store): string[] {
  const parts: [string, object][] = [
    ['', store],
    ['locks.', store.locks],
    ['semaphores.', store.semaphores],
    ['elections.', store.elections],
    ['webLocks.', store.webLocks],
    ['latches.', store.latches],
    ['barriers.', store.barriers],
    ['members.', store.members],
    ['sessions.', store.sessions],
  ]
  return parts.flatMap(([before, part]) => functionsOf(part).map((name) => before + name))
}

function functionsOf(part: object): string[] {
  const names = new Set<string>()
  for (let at: unknown = part; at !== Object.prototype && at !== null; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at as object)))
      if (typeof value === 'function' && name !== 'constructor') names.add(name)
  }
  return [...names]
}

/** Returns one row for each route of the table, so that a new route cannot be forgotten. */
export const httpRows = (): Record<string, HttpRow> =>
  Object.fromEntries(ROUTE_EXAMPLES.map((row) => [`${row.method} ${row.route}`, row]))
