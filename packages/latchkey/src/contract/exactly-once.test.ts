// Test: a repeated write is applied once after a lost answer, a change of leader or a reconnect. A proxy
// between the remote client and its member loses answers and breaks connections.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connect, open, type Store } from '../index.js'
import type { WatchEvent } from '@latchkey/protocol'
import { freePorts } from './testing/free-ports-and-temporary-folders.js'
import { code, sleep, take, until } from './testing/small-test-functions.js'
import { type Wire, wireTo } from './testing/client-to-member-proxy.js'

let member: Store
let remote: Store
let wire: Wire
let tests = 0
beforeAll(async () => {
  const url = `ws://127.0.0.1:${(await freePorts(1))[0]}`
  // The client learns only the address of the proxy, so that it cannot connect in another way.
  member = await open({ id: 'a', memory: true, listen: new URL(url).host })
  await member.ready()
  wire = await wireTo(url)
  remote = await connect([wire.url])
  await remote.put('session', 'opened')
})
afterAll(async () => {
  await remote?.close()
  await wire?.close()
  await member?.close()
})
beforeEach(() => {
  tests++
})
const key = (name = 'key') => `${tests}/${name}`

/**
 * The request is applied, its answer is lost, and the connection breaks: the client sends the request again.
 */
async function withLostAnswer<T>(call: () => Promise<T>): Promise<T> {
  wire.loseAnswers()
  const { applied } = await member.status()
  const answer = call()
  await until(async () => (await member.status()).applied > applied)
  await sleep(20)
  wire.break()
  return await answer
}

test('C2: merge', async () => {
  await withLostAnswer(() => remote.merge(key(), 'x'))
  await withLostAnswer(() => remote.merge(key(), 'y'))
  expect(await remote.get(key(), { as: 'string' })).toBe('x,y')
})

test('C2: touch, and a put with a ttl', async () => {
  const { revision } = await withLostAnswer(() => remote.put(key(), '1', { ttl: '1h' }))
  expect(await withLostAnswer(() => remote.touch(key(), '2h'))).toBe(true)
  expect(await member.getEntry(key())).toMatchObject({ version: 1, modRevision: revision })
})

test('C2: increment', async () => {
  expect(await withLostAnswer(() => remote.increment(key(), 10))).toMatchObject({ value: 10 })
  expect(await withLostAnswer(() => remote.increment(key(), -3))).toMatchObject({ value: 7 })
  expect(await remote.get(key(), { as: 'string' })).toBe('7')
})

test('C2: getSequence', async () => {
  expect(await withLostAnswer(() => remote.getSequence(key(), 10))).toEqual({ start: 0, end: 10 })
  expect(await remote.getLatestSequence(key())).toBe(10)
})

test('C2: put takes one revision', async () => {
  const { revision } = await remote.put(key(), '1')
  expect(await withLostAnswer(() => remote.put(key(), '2'))).toEqual({ revision: revision + 1 })
  expect(await member.getEntry(key())).toMatchObject({ version: 2, modRevision: revision + 1 })
})

test('C2: putAll', async () => {
  await withLostAnswer(() => remote.putAll([[key('a'), '1']]))
  expect((await member.getEntry(key('a')))?.version).toBe(1)
})

test('C2: putIfAbsent: the first answer counts', async () => {
  expect(await withLostAnswer(() => remote.putIfAbsent(key(), '1'))).toBeUndefined()
})

test('C2: getAndPut: the previous value, not the own one', async () => {
  await remote.put(key(), 'before')
  expect(await withLostAnswer(() => remote.getAndPut(key(), 'after', { as: 'string' }))).toBe('before')
})

test('C2: compareAndPut and compareAndPutAll: true, although the value has changed', async () => {
  await remote.put(key(), '1')
  expect(await withLostAnswer(() => remote.compareAndPut(key(), '1', '2'))).toBe(true)
  expect(
    await withLostAnswer(() => remote.compareAndPutAll([{ key: key(), expect: '2', update: '3' }])),
  ).toBe(true)
  expect(await withLostAnswer(() => remote.compareAndPut(key('new'), undefined, '1'))).toBe(true)
})

test('C2: delete, deleteAll, deleteRange: the count of the first execution', async () => {
  await remote.putAll(['a', 'b', 'c', 'd'].map((name) => [key(name), ''] as const))
  expect(await withLostAnswer(() => remote.delete(key('a')))).toBe(1)
  expect(await withLostAnswer(() => remote.deleteAll([key('b')]))).toBe(1)
  expect(await withLostAnswer(() => remote.deleteRange(key('c'), key('z')))).toBe(2)
})

test('C2: batch and txn', async () => {
  const { results } = await withLostAnswer(() =>
    remote.batch([
      { type: 'merge', key: key(), value: 'x' },
      { type: 'delete', key: key() },
    ]),
  )
  expect(results).toEqual([true, 1])
  const when = [{ key: key(), value: undefined }]
  const txn = await withLostAnswer(() =>
    remote.txn({ when, then: [{ type: 'put', key: key(), value: '1' }] }),
  )
  expect(txn).toMatchObject({ succeeded: true, results: [true] })
})

test('C2, K14: tryLockWith and releaseLockWith count once', async () => {
  const acquirer = { id: 'me', lease: '30s' } as const
  const lock = () => remote.tryLockWith(key(), null, false, acquirer)
  expect(await withLostAnswer(lock)).toMatchObject({ code: 'FIRST_TIME', acquires: 1 })
  expect(await withLostAnswer(lock)).toMatchObject({ code: 'REENTRANT', acquires: 2 })
  const release = () => remote.releaseLockWith(key(), acquirer)
  expect(await withLostAnswer(release)).toMatchObject({ code: 'DECREMENTED', acquires: 1 })
  expect(await withLostAnswer(release)).toMatchObject({ code: 'RELEASED', acquires: 0 })
})

test('K14: a lock object counts its acquires once, and unlocks once', async () => {
  const lock = remote.getDistributedLock(key(), '30s')
  expect(await withLostAnswer(() => lock.tryLock())).toBe(true)
  const token = lock.getFencingToken()
  expect(await withLostAnswer(() => lock.tryLock())).toBe(true)
  expect(lock.getFencingToken()).toBe(token)
  expect(await withLostAnswer(() => lock.unlock())).toEqual({ acquires: 1 })
  expect(await withLostAnswer(() => lock.unlock())).toEqual({ acquires: 0 })
  expect(await member.locks.query(key())).toEqual([])
})

test('forceRelease: true, although the hold has ended by then', async () => {
  const hold = await member.locks.acquire(key(), { lease: '30s' })
  expect(await withLostAnswer(() => remote.locks.forceRelease(key(), hold.token))).toBe(true)
})

test('K28: an attempt with an unknown outcome is released before the next one', async () => {
  const lock = remote.getDistributedLock(key(), '60s')
  wire.loseAnswers()
  const controller = new AbortController()
  const trying = lock.tryLock({ signal: controller.signal })
  await until(async () => (await member.locks.query(key())).length === 1)
  controller.abort('enough')
  await expect(trying).rejects.toMatchObject(code('ERR_ABORTED', { cause: 'enough' }))
  expect(lock.held).toBe(false)
  wire.break()
  expect(await lock.tryLock()).toBe(true)
  expect(await member.locks.query(key())).toMatchObject([
    { acquires: 1, fencingToken: lock.getFencingToken() },
  ])
  await lock.unlock()
})

test('waiters keep their places while the connection is broken, and learn of a grant that was made meanwhile', async () => {
  const holder = await member.locks.acquire(key(), { lease: '30s' })
  const waiting = remote.locks.acquire(key(), { lease: '30s', wait: '20s' })
  await until(async () => (await member.locks.query(key()))[0]?.waiters === 1)
  wire.loseAnswers()
  await holder.release()
  await sleep(50)
  wire.break()
  const hold = await waiting
  expect(hold.held).toBe(true)
  expect(await member.locks.query(key())).toMatchObject([{ acquires: 1, waiters: 0 }])
  await hold.release()
})

/** A remote watch begins when its request arrives; later writes of the same client come after that. */
async function begun(watch: AsyncIterator<WatchEvent<'string'>>): Promise<void> {
  await remote.put(key('begin'), 'begin')
  await take(watch, 1)
}

test('C11: a watch continues after a reconnect without a gap or a repetition', async () => {
  const watch = remote.watch({ prefix: key('') }, { as: 'string' })
  await begun(watch)
  for (let n = 0; n < 50; n++) {
    await member.put(key(`${n}`), `${n}`)
    if (n % 10 === 5) wire.loseAnswers()
    if (n % 10 === 9) wire.break()
  }
  const events = await take(watch, 50)
  expect(events.map(({ value }) => Number(value))).toEqual(Array.from({ length: 50 }, (_, n) => n))
  await watch.return?.()
})

test('R9: an iteration whose frozen view is lost ends with an error, not in silence', async () => {
  await member.putAll(Array.from({ length: 3_000 }, (_, n) => [key(String(n).padStart(4, '0')), ''] as const))
  const iterator = remote.keys({ prefix: key('') })
  await iterator.next()
  wire.break()
  const rest = (async () => {
    let found = 1
    for await (const _ of iterator) found++
    return found
  })()
  await expect(rest).rejects.toMatchObject({ name: 'LatchkeyError', retryable: true })
  expect(await remote.scan({ prefix: key(''), keysOnly: true })).toHaveLength(3_000)
})

test('a session is kept alive during a wait, and another one is opened after an idle time (A7)', async () => {
  await using brief = await connect([wire.url], { sessionLife: '1s' })
  await brief.put(key(), '1')
  const holder = await member.locks.acquire(key('lock'), { lease: '30s' })
  const waiting = brief.locks.acquire(key('lock'), { lease: '30s' })
  await sleep(2_200)
  await holder.release()
  const hold = await waiting
  expect(hold.held).toBe(true)
  await hold.release()
  await sleep(1_500)
  await brief.merge(key(), '2')
  expect(await brief.get(key(), { as: 'string' })).toBe('1,2')
})

test('ERR_COMPACTED: the history begins later than the requested revision', async () => {
  const { revision } = await remote.put(key(), 'old')
  for (let round = 0; round < 6; round++)
    await member.putAll(
      Array.from({ length: 20_000 }, (_, n) => [`${key()}/${n}`, ''] as const),
      {
        timeout: '30s',
      },
    )
  for (const store of [remote, member]) {
    const watch = store.watch({ key: key(), from: revision })
    await expect(watch.next()).rejects.toMatchObject(code('ERR_COMPACTED', { retryable: false }))
    expect(await watch.next()).toEqual({ done: true, value: undefined })
    const recent = store.watch({ prefix: key(), from: revision + 6 }, { as: 'string' })
    expect((await take(recent, 2)).map((event) => event.revision)).toEqual([revision + 6, revision + 6])
    await recent.return?.()
  }
})

test('many watches, and one that is far behind', async () => {
  const watches = Array.from({ length: 20 }, () => remote.watch({ prefix: key('') }, { as: 'string' }))
  await remote.put(key('begin'), 'begin')
  for (const watch of watches) await take(watch, 1)
  for (let n = 0; n < 500; n++) void member.put(key(`${n}`), `${n}`)
  for (const watch of watches) {
    const events = await take(watch, 500)
    expect(new Set(events.map(({ value }) => value)).size).toBe(500)
    await watch.return?.()
  }
})
