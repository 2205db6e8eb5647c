// Test: an embedded store whose own member cannot reach the leader uses a third member that reaches both.

import { type Store, Watchdog } from '@latchkey/client'
import { type Duration, encodeCommand, LatchkeyError, OP } from '@latchkey/protocol'
import { afterEach, expect, test } from 'vitest'
import {
  decodeMemberMessage,
  encodeMemberMessage,
  type MemberMessage,
} from '../member/non-raft-member-messages.js'
import { openMember } from './open.js'
import type { OpenedMember } from './open-member.js'
import { checkOptions } from './options.js'
import { listen } from './http-and-websocket-server.js'
import { type MemberRelay, relayTo } from './testing/member-relay.js'

const IDS = ['a', 'b', 'c'] as const
type Id = (typeof IDS)[number]

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await Promise.resolve(close()).catch(() => {})
})

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Three members, each behind a relay; b leads. */
async function three() {
  const relays = {} as Record<Id, MemberRelay>
  for (const id of IDS) relays[id] = await relayTo(id, IDS)
  const members = Object.fromEntries(IDS.map((id) => [id, relays[id].url]))
  const all = {} as Record<Id, OpenedMember>
  const start = async (id: Id) => {
    const options = { id, memory: true, members, listen: relays[id].listen }
    all[id] = await openMember(options)
    closers.push(() => all[id].store.close())
    const { listen: at, tls } = checkOptions(options)
    if (at !== undefined) all[id].serveAt(await listen(at, all[id].arrivals(tls)))
  }
  await Promise.all(IDS.map(start))
  closers.push(() => Promise.all(IDS.map((id) => relays[id].close())))
  await Promise.all(IDS.map((id) => all[id].store.ready()))
  await lead(all, 'b')
  const cut = (one: Id, other: Id) => {
    relays[one].cut(other)
    relays[other].cut(one)
  }
  const heal = () => {
    for (const id of IDS) relays[id].heal()
  }
  return { all, cut, heal }
}

const leaderOf = async (store: Store) => (await store.status()).leader

async function lead(all: Record<Id, OpenedMember>, id: Id): Promise<void> {
  const isAnother = async () => (await leaderOf(all.c.store)) !== id
  while (await isAnother()) {
    await all.c.store.transferLeadership(id).catch(() => {})
    await sleep(50)
  }
  for (const one of IDS) await expect.poll(() => leaderOf(all[one].store)).toBe(id)
}

/** A lock of a's store with a watchdog. */
async function hold(store: Store, lease: Duration = '8s') {
  const watchdog = new Watchdog()
  closers.push(() => watchdog.close())
  const lost: unknown[] = []
  watchdog.on('lost', ({ error }) => lost.push(error))
  const lock = store.getDistributedLock('l', lease, watchdog)
  expect(await lock.tryLock()).toBe(true)
  return { lock, lost }
}

test('M28: a is cut off from its leader alone: a third member hands on what its store asks, and the hold stays', async () => {
  const { all, cut, heal } = await three()
  const { store } = all.a
  const { lock, lost } = await hold(store)
  const guard = { key: 'l', token: lock.getFencingToken() }
  const seen: string[] = []
  const watch = store.watch({ prefix: 'k' })
  const watching = (async () => {
    for await (const event of watch) seen.push(Buffer.from(event.key).toString())
  })()
  watching.catch(() => {})
  await store.put('k0', 'v', { guard })
  cut('a', 'b')
  const began = performance.now()
  let count = 1
  while (performance.now() - began < 10_000) {
    await store.put(`k${count}`, 'v', { guard })
    expect(await store.get(`k${count}`, { as: 'string' })).toBe('v')
    count++
    await sleep(200)
  }
  expect(lock.held).toBe(true)
  expect(lost).toEqual([])
  expect(await leaderOf(all.c.store)).toBe('b')
  // A grant is told through the third member too.
  const theirs = await all.b.store.locks.acquire('w', { lease: '60s' })
  const ours = store.locks.acquire('w', { lease: '60s', wait: '20s' })
  await expect.poll(async () => (await all.b.store.locks.query('w'))[0]?.waiters).toBe(1)
  await theirs.release()
  expect((await ours)?.held).toBe(true)
  expect(all.a.current?.links.isCutOff).toBe(true)
  heal()
  await expect.poll(() => leaderOf(store)).toBe('b')
  await store.put(`k${count++}`, 'v', { guard })
  await expect.poll(() => seen.length).toBe(count)
  expect(seen).toEqual(Array.from({ length: count }, (_, i) => `k${i}`))
  await expect.poll(() => store.get(`k${count - 1}`, { as: 'string', consistency: 'stale' })).toBe('v')
  expect([lock.held, lost]).toEqual([true, []])
  await lock.unlock()
})

test('M28: a is cut off from its leader, and then the leader changes, to the third member and back: the hold stays', async () => {
  const { all, cut } = await three()
  const { store } = all.a
  const { lock, lost } = await hold(store)
  const guard = { key: 'l', token: lock.getFencingToken() }
  cut('a', 'b')
  await store.put('k', '1', { guard })
  await all.c.store.transferLeadership('c')
  await store.put('k', '2', { guard })
  await expect.poll(() => leaderOf(store)).toBe('c')
  await store.put('k', '3', { guard })
  // It reaches its leader itself, and nobody hands on anything for it any more.
  await expect.poll(() => all.a.current?.links.isCutOff).toBe(false)
  await expect.poll(() => all.c.current?.links.served).toBe(0)
  await all.c.store.transferLeadership('b')
  await store.put('k', '4', { guard })
  expect(await store.get('k', { as: 'string' })).toBe('4')
  await expect.poll(() => all.c.current?.links.served).toBe(1)
  expect([lock.held, lost]).toEqual([true, []])
})

test('M28: a is cut off from its leader, and then the third member dies: the holder knows it by the end of its lease', async () => {
  const { all, cut } = await three()
  const { store } = all.a
  const { lock, lost } = await hold(store, '5s')
  const guard = { key: 'l', token: lock.getFencingToken() }
  cut('a', 'b')
  await store.put('k', '1', { guard })
  expect(all.c.current?.links.served).toBe(1)
  all.c.current?.replica.node.fail('a test', new LatchkeyError('ERR_STORAGE_FAILED', 'The disk is gone.'))
  await all.c.store.close()
  const left = lock.remainingMillis()
  expect(left).toBeLessThanOrEqual(5_000)
  // A timer and the clock may round a millisecond in different ways.
  await sleep(left + 10)
  expect([lock.held, lock.remainingMillis()]).toEqual([false, 0])
  await expect.poll(() => lost.length).toBe(1)
  const late = store.put('k', '2', { guard, timeout: 300 })
  await expect(late).rejects.toMatchObject({ code: expect.stringMatching(/ERR_(NO_LEADER|TIMEOUT)/) })
})

test('M28: the leader is cut off from the third member too: it is left, and the two that reach each other go on', async () => {
  const { all, cut } = await three()
  const { store } = all.a
  const { lock, lost } = await hold(store)
  const guard = { key: 'l', token: lock.getFencingToken() }
  cut('a', 'b')
  await store.put('k', '1', { guard })
  expect(all.c.current?.links.served).toBe(1)
  cut('b', 'c')
  await store.put('k', '2', { guard })
  expect(['a', 'c']).toContain(await leaderOf(store))
  expect(await store.get('k', { as: 'string' })).toBe('2')
  expect([lock.held, lost]).toEqual([true, []])
})

test('M28: one hop: a command that another member hands on is refused by a member that does not lead, and handed to nobody', async () => {
  const { all } = await three()
  const { c } = all
  const sent: [string, MemberMessage | null][] = []
  const transport = c.current?.replica.transport
  const sendApp = transport?.sendApp.bind(transport)
  Object.assign(transport ?? {}, {
    sendApp: (to: string, bytes: Uint8Array) => {
      sent.push([to, decodeMemberMessage(bytes)])
      return sendApp?.(to, bytes)
    },
  })
  const body = encodeCommand([OP.openSession, 10_000, 'embedded in a'])
  c.current?.receive(
    'a',
    encodeMemberMessage({ kind: 'command', id: 1, session: 0, number: 0, done: 0, body }),
  )
  await expect.poll(() => sent.length).toBeGreaterThan(0)
  await sleep(100)
  const kinds = ['command', 'applied', 'refused', 'unknown', 'returned']
  const answers = sent.filter(([, message]) => kinds.includes(message?.kind ?? ''))
  expect(answers).toEqual([['a', { kind: 'refused', id: 1, reason: 'not-leader' }]])
})
