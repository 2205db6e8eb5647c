// Test: when a member stops, fails, is removed or is rebuilt, each waiting caller gets an error at once, and
// the process continues.

import { connect as dialTcp } from 'node:net'
import { join } from 'node:path'
import { connect } from '@latchkey/client'
import { classicLevelStorage } from '@latchkey/kv'
import { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { activeMillis } from '../contract/testing/small-test-functions.js'
import type { OpenedMember } from './open-member.js'
import { open } from './open.js'
import type { OpenOptions } from './options.js'
import { openedInTest } from './testing/opened-stores-and-members.js'
import { addresses } from './testing/free-ports.js'

const { inFolder, later, member } = openedInTest()

async function trio(more: Partial<OpenOptions> = {}): Promise<Record<'a' | 'b' | 'c', OpenedMember>> {
  const members = await addresses(['a', 'b', 'c'])
  const [a, b, c] = await Promise.all(
    (['a', 'b', 'c'] as const).map((id) => member({ id, memory: true, members, ...more })),
  )
  const all = { a, b, c } as Record<'a' | 'b' | 'c', OpenedMember>
  await Promise.all(Object.values(all).map(({ store }) => store.ready()))
  return all
}

const fail = (opened: OpenedMember) =>
  opened.current?.replica.node.fail('a test', new LatchkeyError('ERR_STORAGE_FAILED', 'The disk is gone.'))

/** In ms, without the times in which this process stands still. A call that waits for something ends after 5 s. */
const AT_ONCE = 4_000
/** A closing leader that waits for its heirs waits for twice the election timeout. */
const LONG_ELECTION = { electionTimeout: 10_000 } as const

async function took<T>(what: Promise<T>): Promise<readonly [number, PromiseSettledResult<T>]> {
  const settled = Promise.allSettled([what])
  const millis = await activeMillis(() => settled)
  const [result] = await settled
  return [millis, result]
}

test('D4 A5: after a failure every call is told the reason at once, those under way too', async () => {
  const alone = await member({ id: 'a', memory: true, ...LONG_ELECTION })
  await alone.store.put('k', 'v')
  const watch = alone.store.watch({ prefix: '' })[Symbol.asyncIterator]()
  const next = watch.next()
  next.catch(() => {})
  await alone.store.locks.acquire('l', { lease: '60s' })
  const waiting = alone.store.locks.acquire('l')
  waiting.catch(() => {})
  await expect.poll(async () => (await alone.store.locks.query('l'))[0]?.waiters).toBe(1)
  fail(alone)
  for (const call of [
    () => alone.store.get('k'),
    () => alone.store.put('k', 'w'),
    () => alone.store.ready(),
    () => alone.store.watch({ prefix: '' }).next(),
  ]) {
    const [ms, result] = await took(Promise.resolve(call()))
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORAGE_FAILED' } })
    expect(ms).toBeLessThan(AT_ONCE)
  }
  await expect(next).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
  await expect(waiting).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
  expect(alone.isReady()).toBe(false)
  const [ms] = await took(alone.store.close())
  expect(ms).toBeLessThan(LONG_ELECTION.electionTimeout)
  await expect(alone.store.get('k')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
})

test('C6 A5: clients of a member that failed go on with another one', async () => {
  const all = await trio()
  const urls = Object.values(all).map(
    ({ current }) => current?.status().members.find(({ id }) => id === current.id)?.url ?? '',
  )
  const store = later(await connect(urls))
  await store.put('k', 'v')
  fail(all.b)
  const [ms, result] = await took(store.put('k', 'w', { timeout: '30s' }))
  expect(result.status).toBe('fulfilled')
  expect(ms).toBeLessThan(AT_ONCE)
  await expect(all.b.store.get('k')).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
})

test('a member is built anew while it serves: twice asked is once done, its clients and watches go on', async () => {
  const all = await trio()
  const { leader } = await all.a.store.status()
  const id = (['a', 'b', 'c'] as const).find((one) => one !== leader) as 'a'
  const url = all[id].current?.status().members.find((one) => one.id === id)?.url as string
  const store = later(await connect([url]))
  await store.put('k', 'v')
  const seen: number[] = []
  const watch = all[id].store.watch({ prefix: '' })
  const watching = (async () => {
    for await (const { revision } of watch) if (seen.push(revision) === 2) return
  })()
  await all[id].store.get('k')
  const before = all[id].current
  await Promise.all([all[id].store.members.rebuild(id), all[id].store.members.rebuild(id)])
  await Promise.all([store.put('k', 'w'), all.a.store.put('k', 'x')])
  await all[id].store.ready()
  expect(all[id].current).not.toBe(before)
  expect(await all[id].store.get('k')).toEqual(await all.a.store.get('k'))
  await watching
  expect(seen).toEqual([2, 3])
})

test('M25: who asks a member itself to be built anew is told that it does, before its connections end', async () => {
  const all = await trio()
  for (const id of ['a', 'b', 'c'] as const) {
    const url = all[id].current?.status().members.find((one) => one.id === id)?.url as string
    const before = all[id].current
    await later(await connect([url])).members.rebuild(id)
    await expect.poll(() => all[id].current !== before && all[id].isReady()).toBe(true)
  }
})

test('C9: a close while it is built anew leaves nothing running', async () => {
  const all = await trio()
  const { leader } = await all.a.store.status()
  const id = (['a', 'b', 'c'] as const).find((one) => one !== leader) as 'a'
  await all[id].store.members.rebuild(id)
  await new Promise((resolve) => setImmediate(resolve))
  await all[id].store.close()
  expect(all[id].current).toBeUndefined()
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(all[id].current).toBeUndefined()
})

test('a rebuild deletes the old state: a row that the disk of the member has lost comes back', async () => {
  const members = await addresses(['a', 'b', 'c'])
  const start = (id: 'a' | 'b' | 'c') => member({ id, dir: inFolder(id), members })
  const [a, , c] = (await Promise.all((['a', 'b', 'c'] as const).map(start))) as OpenedMember[]
  await a?.store.put('k', 'v')
  await c?.store.get('k')
  await c?.store.close()
  const rows = await classicLevelStorage(join(inFolder('c'), 'state')).open()
  await rows?.write([{ key: Buffer.from('dk'), value: undefined }])
  await rows?.close()
  const { store } = await start('c')
  const ownValue = () => store.get('k', { as: 'string', consistency: 'stale' })
  await store.ready()
  expect(await ownValue()).toBeUndefined()
  await store.members.rebuild('c')
  await expect.poll(() => ownValue().catch(() => 'no member serves this store')).toBe('v')
})

test('a member that fails before its rebuild begins keeps its state', async () => {
  const all = await trio()
  const { leader } = await all.a.store.status()
  const id = (['a', 'b', 'c'] as const).find((one) => one !== leader) as 'a'
  const before = all[id].current
  await all[id].store.members.rebuild(id)
  fail(all[id])
  // The rebuild would begin in the next turn of the event loop, and would set `current` to another value.
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(all[id].current).toBe(before)
  await expect(all[id].store.get('k')).rejects.toMatchObject({ code: 'ERR_STORAGE_FAILED' })
})

test('the only member is never built anew: there is nobody to have its state from', async () => {
  const dir = inFolder('a')
  const alone = await member({ id: 'a', dir })
  await alone.store.put('k', 'v')
  await expect(alone.store.members.rebuild('a')).rejects.toMatchObject({ code: 'ERR_PROTOCOL' })
  expect(await alone.store.get('k', { as: 'string' })).toBe('v')
})

test('M11 M12: a leader that is removed says so, and the clients of a removed member move on', async () => {
  const all = await trio()
  const { leader } = await all.a.store.status()
  const gone = all[leader as 'a']
  const urls = Object.fromEntries((await all.a.store.status()).members.map(({ id, url }) => [id, url]))
  const others = (['a', 'b', 'c'] as const).filter((id) => id !== leader)
  const store = later(await connect([urls[leader as string] as string, urls[others[0] as string] as string]))
  await store.put('k', 'v')
  await gone.store.members.remove(leader as string)
  const [ms, result] = await took(store.put('k', 'w', { timeout: '30s' }))
  expect(result.status).toBe('fulfilled')
  expect(ms).toBeLessThan(AT_ONCE)
  // A member that knows nothing of its cluster any more refuses at the door.
  await expect(connect([urls[leader as string] as string], { timeout: 500 })).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
  })
})

test.each(['leader', 'follower'] as const)(
  'M12 R8: the store inside a removed %s ends whatever waits, at once and with the reason',
  async (role) => {
    const all = await trio()
    const { leader } = await all.a.store.status()
    const id = (['a', 'b', 'c'] as const).find((one) => (one === leader) === (role === 'leader')) as 'a'
    const { store } = all[id]
    await store.put('k', 'v')
    const other = (['a', 'b', 'c'] as const).find((one) => one !== id) as 'a'
    const held = await all[other].store.locks.acquire('l', { lease: '60s' })
    const watch = store.watch({ prefix: '' })[Symbol.asyncIterator]()
    const endless = [watch.next(), store.locks.acquire('l'), store.getDistributedLock('l', '9s').lock()]
    const ends = Promise.allSettled(endless)
    await store.get('k')
    await store.members.remove(id)
    const [ms, ended] = await took(ends)
    expect(ms).toBeLessThan(AT_ONCE)
    const gone = { code: 'ERR_NO_LEADER', retryable: false, message: expect.stringContaining('removed') }
    const results = ended.status === 'fulfilled' ? ended.value : []
    expect(results).toEqual(Array(3).fill({ status: 'rejected', reason: expect.objectContaining(gone) }))
    for (const call of [
      () => store.get('k'),
      () => store.put('k', 'w'),
      () => store.ready(),
      () => store.watch({ prefix: '' }).next(),
      () => store.locks.acquire('l'),
    ]) {
      const [late, result] = await took(Promise.resolve(call()))
      expect(result).toMatchObject({ status: 'rejected', reason: { ...gone, outcome: 'not-applied' } })
      expect(late).toBeLessThan(AT_ONCE)
    }
    // What it has it still says.
    expect((await store.status()).members.map((one) => one.id)).not.toContain(id)
    expect(await store.get('k', { as: 'string', consistency: 'stale' })).toBe('v')
    await held.release()
  },
)

test.each([true, false])(
  'M12: who was removed and is started again over its directory says so, its removal known to it: %s',
  async (known) => {
    const members = await addresses(['a', 'b', 'c'])
    const start = (id: 'a' | 'b' | 'c') => member({ id, dir: inFolder(id), members })
    const [a, , c] = await Promise.all((['a', 'b', 'c'] as const).map(start))
    await (a as OpenedMember).store.ready()
    // Before it knows its cluster it is refused at the door, and told so there.
    await expect.poll(() => c?.current?.replica.clusterId).toBeTruthy()
    if (!known) await c?.store.close()
    await a?.store.members.remove('c', { timeout: '30s' })
    if (known) await expect.poll(() => c?.current?.isLeft).toBe(true)
    await c?.store.close()
    const again = await start('c')
    await expect.poll(() => again.current?.isLeft).toBe(true)
    const gone = { code: 'ERR_NO_LEADER', retryable: false, message: expect.stringContaining('removed') }
    await expect(again.store.get('k')).rejects.toMatchObject(gone)
    await expect(again.store.ready()).rejects.toMatchObject(gone)
    expect([again.isReady(), again.whyNotReady()]).toEqual([false, expect.stringContaining('c was removed')])
    await expect(connect([members.c], { timeout: 300 })).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
    // What they say is undone by a leader that calls on it.
    await a?.store.members.add('c', members.c)
    await again.store.ready({ timeout: '30s' }).catch(() => {})
    await expect.poll(() => again.current?.isLeft).toBe(false)
    await again.store.put('k', 'v')
  },
)

test('M12: who is removed and added again goes on, in the same life', async () => {
  const all = await trio()
  const { leader, members } = await all.a.store.status()
  const id = (['a', 'b', 'c'] as const).find((one) => one !== leader) as 'a'
  const other = all[leader as 'a'].store
  await other.members.remove(id)
  await expect.poll(() => all[id].current?.isLeft).toBe(true)
  await expect(all[id].store.get('k')).rejects.toMatchObject({ retryable: false })
  await other.members.add(id, members.find((one) => one.id === id)?.url as string)
  await expect.poll(() => all[id].current?.isLeft).toBe(false)
  await all[id].store.ready()
  await all[id].store.put('k', 'v')
  expect(await other.get('k', { as: 'string' })).toBe('v')
})

test('C6: clients of a member that is cut off from the others find another one', async () => {
  const all = await trio()
  const { leader, members } = await all.a.store.status()
  const store = later(await connect(members.map(({ url }) => url)))
  // A client prefers the leader: so that one is cut off.
  await store.put('k', 'v')
  const cut = all[leader as 'a'].current?.replica
  await expect.poll(() => all[leader as 'a'].figures()['client_connections']).toBe(1)
  Object.assign(cut?.transport ?? {}, { send: () => {} })
  Object.assign(cut?.node ?? {}, { receive: () => {} })
  const [ms, result] = await took(store.put('k', 'w', { timeout: '50s' }))
  expect(result.status).toBe('fulfilled')
  expect(ms).toBeLessThan(10_000)
})

test('the last of a cluster closes without waiting for heirs', async () => {
  const all = await trio(LONG_ELECTION)
  const { leader } = await all.a.store.status()
  const rest = (['a', 'b', 'c'] as const).filter((id) => id !== leader)
  for (const id of rest) await all[id].store.close()
  const [ms] = await took(all[leader as 'a'].store.close())
  expect(ms).toBeLessThan(LONG_ELECTION.electionTimeout)
})

test('the first call after open() is answered without a pause, however long the opening took', async () => {
  const times: number[] = []
  for (let i = 0; i < 3; i++) {
    const opened = await member({ id: 'a', memory: true })
    times.push((await took(opened.store.ready()))[0])
  }
  // Other processes may delay one of the answers.
  expect(Math.min(...times)).toBeLessThan(500)
})

test('an aborted opening leaves nothing behind', async () => {
  const dir = inFolder('a')
  const stop = new AbortController()
  const opening = open({ id: 'a', dir, signal: stop.signal })
  stop.abort(new Error('no more'))
  await expect(opening).rejects.toMatchObject({ code: 'ERR_ABORTED', cause: { message: 'no more' } })
  const again = await open({ id: 'a', dir })
  await again.close()
})

test('a connection that is refused and never closed does not hold up the close', async () => {
  const members = await addresses(['a'])
  const opened = await member({ id: 'a', memory: true, members })
  const { port } = new URL(members.a)
  const socket = dialTcp({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
  later({ close: async () => void socket.destroy() })
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write('GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await new Promise((resolve) => socket.once('data', resolve))
  const [ms] = await took(opened.store.close())
  expect(ms).toBeLessThan(AT_ONCE)
})

test('a leader that closes under load loses nothing: every call of its clients is answered, each once', async () => {
  const all = await trio()
  const { leader, members } = await all.a.store.status()
  const store = later(await connect(members.map(({ url }) => url)))
  let stop = false
  let done = 0
  const flow = async () => {
    for (; !stop; done++) await store.getSequence('s', 1, { timeout: '50s' })
  }
  const flows = Promise.all(Array.from({ length: 20 }, flow))
  await expect.poll(() => done).toBeGreaterThan(50)
  const before = done
  const [ms] = await took(all[leader as 'a'].store.close())
  expect(ms).toBeLessThan(AT_ONCE)
  await expect.poll(() => done).toBeGreaterThan(before + 50)
  stop = true
  await flows
  expect(await store.getLatestSequence('s')).toBe(done)
})

test('C9: what the closing store itself was asked ends with ERR_CLOSED, at once, by what was sent', async () => {
  const all = await trio()
  const { leader } = await all.a.store.status()
  const { store } = all[leader as 'a']
  await store.put('k', 'v')
  const calls = Array.from({ length: 50 }, (_, i) => store.put(`k${i}`, 'v'))
  calls.push(store.get('k') as never)
  const settled = Promise.allSettled(calls)
  const closing = store.close()
  for (const one of await settled) {
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'ERR_CLOSED' })
  }
  await closing
})
