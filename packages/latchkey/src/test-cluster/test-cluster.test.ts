// Test: testCluster(): faults, a manual clock, fake timers, and several clusters at once.

import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { Watchdog } from '@latchkey/client'
import { testCluster, type TestClusterOptions } from './index.js'

afterEach(() => vi.useRealTimers())

async function cluster(options: TestClusterOptions = {}) {
  const made = await testCluster(options)
  onTestFinished(() => made.close())
  return made
}
const manual = () => cluster({ clock: 'manual' })
const CLOCKS = ['real', 'manual'] as const
type Trio = Awaited<ReturnType<typeof manual>>
const othersOf = (trio: Trio, id: string) =>
  trio.ids.filter((one) => one !== id) as ['a' | 'b' | 'c', 'a' | 'b' | 'c']

test('stores are found by id as properties and as in a Map, and each sees the writes of the others', async () => {
  const trio = await manual()
  expect(Object.keys(trio.stores)).toEqual(['a', 'b', 'c'])
  expect([...trio.stores].map(([id]) => id)).toEqual(['a', 'b', 'c'])
  expect(trio.stores.get('b')).toBe(trio.stores.b)
  await trio.stores.a.put('k', 'v')
  for (const store of trio.stores.values()) expect(await store.get('k', { as: 'string' })).toBe('v')
  const remote = await trio.connect({ as: 'string' })
  await remote.put('k', 'w')
  expect(await remote.get('k')).toBe('w')
  expect((await remote.status()).clusterId).toBe((await trio.stores.c.status()).clusterId)
})

test.each([1, 2, 5] as const)('%i members', async (members) => {
  await using some = await testCluster({ members, clock: 'manual' })
  expect(some.ids).toHaveLength(members)
  expect(some.ids).toContain(await some.leader())
  await some.stores.a.put('k', 'v')
})

test.each(CLOCKS)(
  'the lock of a killed holder is granted to the next waiter when the lease expires, %s',
  async (clock) => {
    const trio = await cluster({ clock })
    const leader = await trio.leader()
    const [holder, next] = othersOf(trio, leader)
    const hold = await trio.stores[holder].locks.acquire('k', { lease: '3s' })
    const waiting = trio.stores[next].locks.acquire('k', { lease: '10s' })
    await trio.kill(holder)
    // With a real clock, the lease may end before the kill.
    const codes = clock === 'manual' ? ['ERR_CLOSED'] : ['ERR_CLOSED', 'ERR_LOCK_LOST']
    expect(codes).toContain((hold.signal.reason as { code: string }).code)
    await expect(trio.stores[holder].get('x')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
    if (clock === 'manual') await trio.advance('4s')
    const second = await waiting
    expect(second.token).toBeGreaterThan(hold.token)
    await trio.start(holder)
    await expect(
      trio.stores[holder].put('x', 'v', { guard: { key: 'k', token: hold.token } }),
    ).rejects.toMatchObject({ code: 'ERR_FENCED' })
  },
)

test.each(CLOCKS)(
  'acknowledged writes survive when all members are killed and started again, %s',
  async (clock) => {
    const trio = await cluster({ clock })
    for (let i = 0; i < 20; i++) await trio.stores.a.put(`k${i}`, 'v')
    for (const id of trio.ids) await trio.kill(id)
    for (const id of trio.ids) await trio.start(id)
    await trio.leader()
    expect(await trio.stores.b.scan({ prefix: 'k' })).toHaveLength(20)
  },
)

test.each(CLOCKS)(
  'after the leader is killed another member leads; a restarted member has a new store, %s',
  async (clock) => {
    const trio = await cluster({ clock })
    const first = await trio.leader()
    const [other] = othersOf(trio, first)
    const remote = await trio.connect()
    const before = trio.stores[first]
    await trio.kill(first)
    expect(await trio.leader()).not.toBe(first)
    await trio.stores[other].put('k', 'v')
    await remote.put('k', 'w')
    await trio.start(first)
    expect(trio.stores[first]).not.toBe(before)
    expect(await trio.stores[first].get('k', { as: 'string' })).toBe('w')
  },
)

test.each(CLOCKS)(
  'a paused leader is replaced, and a holder in its process learns when it is resumed that its hold is lost, %s',
  async (clock) => {
    const trio = await cluster({ clock })
    const first = await trio.leader()
    const hold = await trio.stores[first].locks.acquire('k', { lease: '2s' })
    await trio.pause(first)
    const next = await trio.leader()
    expect(next).not.toBe(first)
    const waiting = trio.stores[next].locks.acquire('k', { lease: '30s', wait: '50s' })
    if (clock === 'manual') await trio.advance('10s')
    const taken = await waiting
    expect(taken.token).toBeGreaterThan(hold.token)
    expect(hold.held).toBe(false)
    await trio.resume(first)
    if (clock === 'manual') await trio.advance('3s')
    await expect(hold.kv.put('x', 'v')).rejects.toMatchObject({ code: 'ERR_FENCED' })
    expect(hold.signal.aborted).toBe(true)
    expect(await trio.stores[first].get('x')).toBeUndefined()
    expect(await trio.leader()).toBe(next)
  },
)

test('a minority that is cut off cannot write, and a remote store moves to the majority', async () => {
  const trio = await manual()
  const remote = await trio.connect({ as: 'string' })
  const first = await trio.leader()
  await trio.stores[first].put('k', 'before')
  await trio.cut(first)
  const lost = trio.stores[first].put('k', 'lost', { timeout: '3s' })
  const refused = expect(lost).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' })
  await trio.advance('10s')
  await refused
  expect(await trio.leader()).not.toBe(first)
  await remote.put('k', 'kept')
  await trio.heal()
  await trio.advance('5s')
  expect(await trio.stores[first].get('k', { as: 'string' })).toBe('kept')
})

test('two members that are cut off from each other both reach the third one', async () => {
  const trio = await manual()
  const leader = await trio.leader()
  const [one, two] = othersOf(trio, leader)
  await trio.cut(one, two)
  await trio.advance('10s')
  expect(await trio.leader()).toBe(leader)
  for (const store of trio.stores.values()) await store.put('k', 'v')
})

test('T11: with a manual clock and an empty log, locks can be acquired after the leader is killed', async () => {
  const trio = await manual()
  const first = await trio.leader()
  await trio.kill(first)
  const [other] = othersOf(trio, first)
  const hold = await trio.stores[other].locks.acquire('k', { lease: '10s', wait: '5s' })
  expect(hold.held).toBe(true)
  expect(await trio.stores[other].put('first', 'v')).toMatchObject({ revision: 1 })
})

test('without a majority there is no leader, and the error names the missing members', async () => {
  const trio = await manual()
  await trio.kill('a')
  await trio.kill('b')
  await expect(trio.leader()).rejects.toMatchObject({ code: 'ERR_NO_LEADER', missing: ['a', 'b'] })
})

test('T11: with a manual clock a lease of ten seconds expires when time is advanced, and not by real time', async () => {
  const trio = await manual()
  const hold = await trio.stores.a.locks.acquire('k', { lease: '10s', renew: false })
  const left = hold.remainingMillis()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(hold.remainingMillis()).toBe(left)
  await trio.advance('5s')
  expect(left - hold.remainingMillis()).toBeGreaterThan(4_900)
  expect(hold.held).toBe(true)
  const waiting = trio.stores.b.locks.acquire('k')
  await trio.advance('6s')
  expect(hold.held).toBe(false)
  expect((await waiting).held).toBe(true)
})

test('T11: an hour is advanced in a few seconds of real time', async () => {
  const trio = await manual()
  const hold = await trio.stores.a.locks.acquire('k', { lease: '59m', renew: false })
  const begun = process.cpuUsage()
  await trio.advance('1h')
  expect(hold.held).toBe(false)
  const { user, system } = process.cpuUsage(begun)
  // On an idle machine this takes half a second.
  expect((user + system) / 1_000).toBeLessThan(10_000)
})

test('T11: a watchdog renews when it is due', async () => {
  const trio = await manual()
  using watchdog = new Watchdog()
  const lock = trio.stores.a.getDistributedLock('k', '10s', watchdog)
  expect(await lock.tryLock()).toBe(true)
  await trio.advance('10m')
  expect(lock.held).toBe(true)
  expect(await trio.stores.b.getDistributedLock('k', '10s').tryLock()).toBe(false)
  watchdog.close()
  await trio.advance('11s')
  expect(lock.held).toBe(false)
})

test('two calls of advance at the same time add up', async () => {
  const trio = await manual()
  const leader = trio.stores[await trio.leader()]
  const clusterTime = async () => {
    await leader.put('k', 'v')
    return (await leader.status()).clusterTime
  }
  const before = await clusterTime()
  await Promise.all([trio.advance('2s'), trio.advance('3s')])
  expect((await clusterTime()) - before).toBe(5_000)
})

test.each(CLOCKS)(
  'T10: with fake timers installed locks are acquired and granted to waiters, %s',
  async (clock) => {
    vi.useFakeTimers({
      toFake: [
        'setTimeout',
        'clearTimeout',
        'setImmediate',
        'setInterval',
        'Date',
        'performance',
        'queueMicrotask',
      ],
    })
    vi.setSystemTime('2099-01-01')
    const trio = await cluster({ clock })
    const hold = await trio.stores.a.locks.acquire('k', { lease: '10s' })
    const waiting = trio.stores.b.locks.acquire('k', { wait: '20s' })
    vi.setSystemTime('2199-01-01')
    expect(hold.held).toBe(true)
    await hold.release()
    const second = await waiting
    const remote = await trio.connect()
    await remote.put('k', 'v', { guard: { key: 'k', token: second.token } })
    if (clock === 'manual') await trio.advance('1m')
    expect(second.held).toBe(true)
  },
)

test('T10: with a real clock time goes on while fake timers stand still', async () => {
  vi.useFakeTimers()
  const trio = await cluster()
  const hold = await trio.stores.a.locks.acquire('k', { lease: '300ms', renew: false })
  await expect(trio.stores.b.locks.acquire('k', { wait: '20s' })).resolves.toMatchObject({ held: true })
  expect(hold.held).toBe(false)
})

test('several clusters at a time have separate keys, time and faults', async () => {
  const clusters = await Promise.all(Array.from({ length: 4 }, manual))
  await Promise.all(clusters.map((one, i) => one.stores.a.put('k', String(i))))
  const holds = await Promise.all(clusters.map((one) => one.stores.b.locks.acquire('l', { renew: false })))
  await clusters[0]?.advance('1m')
  await clusters[1]?.kill('c')
  const values = await Promise.all(clusters.map((one) => one.stores.a.get('k', { as: 'string' })))
  expect(values).toEqual(['0', '1', '2', '3'])
  expect(holds.map(({ held }) => held)).toEqual([false, true, true, true])
})

test('close ends everything: calls, holds, remote stores, and calls that come later', async () => {
  const trio = await manual()
  const hold = await trio.stores.a.locks.acquire('k')
  const remote = await trio.connect()
  const waiting = expect(remote.locks.acquire('k')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  await trio.close()
  await trio.close()
  await waiting
  expect(hold.held).toBe(false)
  await expect(trio.stores.b.get('k')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  await expect(trio.advance('1s')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  await expect(trio.leader()).rejects.toMatchObject({ code: 'ERR_CLOSED' })
})

test('a store that the test closes stops its member in order, and the member can be started again', async () => {
  const trio = await manual()
  const leader = await trio.leader()
  await trio.stores[leader].close()
  expect(await trio.leader()).not.toBe(leader)
  await trio.start(leader)
  await trio.stores[leader].put('k', 'v')
})

test.each([
  ['an unknown option', () => testCluster({ member: 3 } as never), 'did you mean "members"'],
  ['no members', () => testCluster({ members: 0 as never }), 'members'],
  ['too many', () => testCluster({ members: 8 as never }), '1 to 7'],
  ['another clock', () => testCluster({ clock: 'fake' as never }), "'real' or 'manual'"],
  ['an option of open() that is wrong', () => testCluster({ heartbeat: 0 }), 'heartbeat'],
  ['null', () => testCluster(null as never), 'object'],
])('a TypeError says what is wrong: %s', async (_, call, named) => {
  const error = await call().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(TypeError)
  expect((error as Error).message).toContain(named)
})

test('a TypeError names the wrong argument of a call', async () => {
  const trio = await cluster()
  await expect(trio.advance('1s')).rejects.toThrow("clock: 'manual'")
  await expect(trio.kill('d' as never)).rejects.toThrow('a, b, c')
  await expect(trio.cut('a', 'a')).rejects.toThrow('two members')
  await expect(trio.start('a')).rejects.toThrow('runs already')
  await trio.kill('a')
  await trio.kill('a')
  await expect(trio.pause('a')).rejects.toThrow('does not run')
})
