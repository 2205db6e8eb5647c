// Driver: every call of a store and every route of HTTP, each as something that can be asked with any credentials.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@latchkey/client'
import { LOCK_VERBS, METHODS } from '../../http/routes.js'

/** `at`: what its keys and locks begin with. */
export type StoreRow = (store: Store, at: string) => Promise<unknown>
export interface HttpRow {
  readonly method: string
  path(at: string): string
  readonly body?: string
}

const first = async (items: AsyncIterableIterator<unknown>): Promise<unknown> => {
  const next = await items.next()
  await items.return?.()
  return next.value
}
const range = (at: string) => ({ prefix: at })
/** A member, a session, a hold that is none: who may ask is told so. */
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
    // Answers come in the order of the questions, so a refusal of the watch is here before this answer.
    await store.locks.query(`${at}l`).catch(() => {})
    await watch.return?.()
    return next
  },
  mirror: async (store, at) => (await store.mirror(range(at))).close(),
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
  'locks.withLock': (store, at) => store.locks.withLock(`${at}l`, { wait: '20s' }, async () => {}),
  'locks.query': (store, at) => store.locks.query(at),
  'locks.forceRelease': (store, at) => store.locks.forceRelease(`${at}none`, 1),
  'locks.releaseAll': (store) => store.locks.releaseAll(),
  ready: (store) => store.ready(),
  status: (store) => store.status(),
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

/** Asks nothing of a member. */
export const NO_CALLS: readonly string[] = ['close', 'on', 'once', 'off', 'addListener', 'removeListener']

/** What can be called on it, by name: those of the objects that hang on it too. */
export function callsOf(store: Store): string[] {
  const parts: [string, object][] = [
    ['', store],
    ['locks.', store.locks],
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

const named = (part: string, name: string) => `/v1/${part}/${encodeURIComponent(name)}`
const hold = JSON.stringify({ id: 'rights', fencingToken: 1 })
const ask = JSON.stringify({ id: 'rights', lease: '10s' })

const PATHS: Readonly<Record<string, (at: string) => string>> = {
  kv: (at) => named('kv', `${at}h`),
  lock: (at) => named('locks', `${at}h`),
}

/** From the routes themselves: a new one has its row at once. */
export function httpRows(): Record<string, HttpRow> {
  const rows: Record<string, HttpRow> = {}
  for (const [route, methods] of Object.entries(METHODS)) {
    for (const method of methods) {
      if (route !== 'lock verb') {
        const path = PATHS[route] ?? (() => `/${route}`)
        rows[`${method} ${path('key').replace(/%2F.*|keyh/, '{key}')}`] = {
          method,
          path,
          ...(method === 'PUT' && { body: 'v' }),
        }
        continue
      }
      for (const verb of LOCK_VERBS) {
        const body = verb === 'acquire' ? ask : hold
        rows[`${method} /v1/locks/{key}:${verb}`] = {
          method,
          path: (at) => `${named('locks', `${at}h`)}:${verb}`,
          body,
        }
      }
    }
  }
  return rows
}
