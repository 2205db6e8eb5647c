// Test: the names and types of docs/api.md. The compiler checks the function below, which never runs.

import * as client from '@latchkey/client'
import { expect, expectTypeOf, test } from 'vitest'
import * as latchkey from '../index.js'
import type {
  Acquirer,
  ConnectOptions,
  DistributedLock,
  ErrorCode,
  Hold,
  KeyValue,
  LockInfo,
  Logger,
  OpenOptions,
  Owner,
  Status,
  Store,
  SubOptions,
  SubStore,
} from '../index.js'

test('the exports of latchkey, and those of the client, which are the same without open and restore', () => {
  const { open, restore, ...words } = latchkey
  expect([typeof open, typeof restore]).toEqual(['function', 'function'])
  expect(Object.keys(words).sort()).toEqual([
    'DistributedLock',
    'ERRORS',
    'Elections',
    'FIRST_TIME_SUCCESS',
    'FenceGuard',
    'Hold',
    'HoldSet',
    'KEEP_LEASE_FAIL',
    'KEEP_LEASE_SUCCESS',
    'LatchkeyError',
    'Leadership',
    'Locks',
    'NEW_ACQUIRE_SUCCESS',
    'Permit',
    'REENTRANT_SUCCESS',
    'Semaphores',
    'Watchdog',
    'connect',
    'isLatchkeyError',
  ])
  for (const [name, value] of Object.entries(words)) expect(client).toHaveProperty(name, value)
})

test('the types of docs/api.md compile', () => {
  expectTypeOf(keysAndValues).toBeFunction()
  expectTypeOf(locks).toBeFunction()
  expectTypeOf(cluster).toBeFunction()
  expectTypeOf(subs).toBeFunction()
})

const signal = new AbortController().signal
const limits = { signal, timeout: '5s' } as const

async function keysAndValues(store: Store): Promise<void> {
  const bytes: Uint8Array | undefined = await store.get('k', limits)
  const text: string | undefined = await store.get('k', { as: 'string', consistency: 'stale' })
  const json = await store.get<{ a: number }>(new Uint8Array(1), { as: 'json' })
  const many: (Uint8Array | undefined)[] = await store.multiGet(['a', new Uint8Array(1)])
  const there: boolean = await store.containsKey('a')
  const entry = await store.getEntry('a')
  const numbers: number[] = entry ? [entry.createRevision, entry.modRevision, entry.version] : []
  const { revision }: { revision: number } = await store.put('a', 'b', { guard: { key: 'l', token: 1 } })
  await store.putAll([{ key: 'a', value: 'b' }], limits)
  for (const pairs of [new Map([['a', 'b']]), Object.entries({ a: 'b' })]) await store.putAll(pairs)
  const before: Uint8Array | undefined = await store.putIfAbsent('a', 'b')
  const previous: string | undefined = await store.getAndPut('a', 'b', { as: 'string' })
  const swapped: boolean = await store.compareAndPut('a', undefined, 'b')
  const all: boolean = await store.compareAndPutAll([{ key: 'a', expect: 'x', update: undefined }])
  numbers.push((await store.merge('a', 'b')).revision, await store.delete('a'), await store.deleteAll(['a']))
  numbers.push(await store.deleteRange('a', 'b'), await store.getLatestSequence('a'))
  const block: { start: number; end: number } = await store.getSequence('a', 10)
  const nothing: undefined = await store.resetSequence('a')
  const batch = await store.batch([
    { type: 'put', key: 'a', value: 'b' },
    { type: 'merge', key: 'a', value: 'b' },
    { type: 'delete', key: 'a' },
    { type: 'deleteRange', start: 'a', end: 'b' },
  ])
  const results: (true | number)[] = batch.results
  const txn = await store.txn({
    when: [{ key: 'a', field: 'version', is: '>', value: 1 }, { key: 'a' }, { lock: 'l', token: 3 }],
    then: [
      { type: 'get', key: 'a' },
      { type: 'put', key: 'a', value: 'b' },
    ],
    else: [],
  })
  const done: unknown[] = [txn.succeeded, txn.results, txn.revision]
  const rows: KeyValue[] = await store.scan({ gte: 'a', lt: 'b', limit: 1, reverse: true, keysOnly: true })
  for await (const { key, value } of store.entries({ prefix: 'x' }, { as: 'string' }))
    done.push(key.length, value.length)
  for await (const key of store.keys()) rows.push({ key, value: key })
  for await (const value of store.values({ gt: 'a', lte: 'b' })) rows.push({ key: value, value })
  for await (const event of store.watch({ prefix: 'a', from: 3 }, { as: 'json', signal })) {
    const { revision: at, type, key, value, previous: last } = event
    const told: [number, 'put' | 'delete', string, unknown, unknown] = [at, type, key, value, last]
    done.push(told, bytes, text, json, many, there, revision, before, previous, swapped, all, block, nothing)
  }
  store.watch({ key: 'a' })
  store.watch({ range: { gte: 'a', lt: 'b' } })
  done.push(results)
}

async function locks(store: Store): Promise<unknown[]> {
  const watchdog = new latchkey.Watchdog()
  watchdog.on('lost', ({ lock, error }) => [lock.held, error.code, error.owner?.id]).close()
  const lock: DistributedLock = store.getDistributedLock('orders/42', '10s', watchdog, {
    fencingKey: 'f',
    context: 'c',
  })
  store.getDistributedLock(new Uint8Array(1), 1000)
  const got: boolean = await lock.tryLock({ context: 'x', ...limits })
  await lock.lock({ context: new Uint8Array(1), signal })
  const { acquires }: { acquires: number } = await lock.unlock(limits)
  const numbers: number[] = [lock.getFencingToken(), lock.remainingMillis(), acquires]
  const owner: Owner | undefined = lock.getOwner()
  const seen: [boolean, AbortSignal, string | Uint8Array | undefined] = [
    lock.held,
    lock.signal,
    lock.getOwnerContext(),
  ]
  await lock[Symbol.asyncDispose]()
  const acquirer: Acquirer = { id: 'x', lease: '10s', fencingToken: 3, context: 'x' }
  const { success, code, nowMillis } = await store.tryLockWith('k', null, false, acquirer, limits)
  const released: Owner = await store.releaseLockWith('k', acquirer)
  const hold: Hold = await store.locks.acquire('k', {
    lease: '10s',
    wait: '30s',
    renew: true,
    signal,
    fencingKey: 'f',
  })
  await hold.kv.put('a', 'b')
  hold.assertHeld()
  await hold.release()
  const maybe: Hold | undefined = await store.locks.tryAcquire('k')
  const token: number = await store.locks.withLock('k', { lease: '10s' }, async (held) => held.token)
  const infos: LockInfo[] = await store.locks.query('k')
  const freed: boolean = await store.locks.forceRelease('k', 3)
  await new latchkey.FenceGuard({ get: async () => undefined, set: async () => {} }).check('r', 3)
  return [got, numbers, owner, seen, success, code, nowMillis, released, maybe, token, infos, freed]
}

interface User {
  name: string
}

async function subs(store: Store): Promise<unknown[]> {
  const orders: SubStore = store.sub('orders/')
  const bytes: Uint8Array | undefined = await orders.get('42')
  const users: SubStore<'json'> = store.sub(new Uint8Array(1), { as: 'json', onUndecodable: 'error' })
  await users.put('1', { name: 'Ada' })
  const user: User | undefined = await users.get<User>('1')
  const rows: KeyValue<'json', User>[] = await users.scan<User>()
  const inner: SubStore<'json'> = users.sub('x/')
  const text: SubStore<'string'> = inner.sub('y/', { as: 'string' })
  const asText: string | undefined = await text.get('1')
  const hold: Hold<'json'> = await users.locks.acquire('1')
  await hold.kv.put('1', { name: 'Eva' })
  const infos: LockInfo<'string'>[] = await text.locks.query()
  const permit: latchkey.Permit<'json'> = await users.semaphores.acquire('s', { of: 2 })
  await permit.release()
  const lock: DistributedLock = orders.getDistributedLock('42', '10s')
  await using mirror = await users.mirror<User>({ prefix: '' })
  const name: string | undefined = mirror.get('1')?.name
  const whole: SubStore = store
  const options: SubOptions<'json'> = { as: 'json' }
  // @ts-expect-error: a number is no value of text
  await text.put('1', 1)
  // @ts-expect-error: there is no such encoding
  store.sub('x/', { as: 'yaml' })
  // @ts-expect-error: an option that is not known
  store.sub('x/', { ass: 'json' })
  // @ts-expect-error: a prefix is required
  store.sub()
  // @ts-expect-error: a store is closed, a sub is not
  await orders.close()
  // @ts-expect-error: a sub emits nothing
  orders.on('leader', () => {})
  // @ts-expect-error: a sub is no store
  const store_: Store = orders
  return [bytes, user, rows, asText, infos, lock, name, whole, options, store_]
}

async function cluster(): Promise<unknown[]> {
  const logger: Logger = console
  const options: OpenOptions = { id: 'a', dir: 'x', members: { a: 'ws://x:1' }, join: false, logger, signal }
  const embedded: Store = await latchkey.open(options)
  const given: ConnectOptions = { token: 't', timeout: '5s', cluster: 'c' }
  const remote: client.Store = await client.connect(['ws://127.0.0.1:7001'] as const, given)
  const store: Store = remote
  await store.ready(limits)
  const { id, role, leader, term, commit, applied, clusterTime, members }: Status = await store.status()
  store.on('leader', (event) => event.term).on('role', (event) => event.role)
  store.once('member', (event) => event.change)
  await store.members.add('b', 'ws://x:1')
  await store.members.promote('b')
  await store.members.update('b', 'ws://x:2')
  await store.members.remove('b')
  await store.members.rebuild('b')
  await store.transferLeadership()
  await store.snapshot()
  await store.backup('x')
  const nothing: undefined = await latchkey.restore('x', { id: 'a', dir: 'x', cluster: 'c' })
  const failed: ErrorCode = new latchkey.LatchkeyError('ERR_BUSY').code
  return [embedded, id, role, leader, term, commit, applied, clusterTime, members, nothing, failed]
}
