// Test: the errors of calls without a leader or without a majority, and close() in this state.

import { expect, type TestContext, test } from 'vitest'
import { connect, type LatchkeyError, open, type Store } from '../index.js'
import { freePorts, tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { activeMillis, code, sleep } from './testing/small-test-functions.js'
import { openTrio } from './testing/three-embedded-members.js'

const folder = tempFolders()
/** Everything that a test opens is closed at its end, the last one first. */
type Later = <T extends { close(): Promise<void> }>(thing: T) => T
const laterIn =
  ({ onTestFinished }: TestContext): Later =>
  (thing) => {
    onTestFinished(() => thing.close())
    return thing
  }

async function lonely(later: Later): Promise<{ embedded: Store; remote: Store }> {
  const [a, b, c] = await freePorts(3)
  const members = { a: `ws://127.0.0.1:${a}`, b: `ws://127.0.0.1:${b}`, c: `ws://127.0.0.1:${c}` }
  const embedded = later(await open({ id: 'a', members, memory: true, electionTimeout: 200, heartbeat: 20 }))
  const remote = later(await connect([members.a]))
  return { embedded, remote }
}

test.concurrent('no leader known: waited for until the deadline, then a read is ERR_TIMEOUT, a write ERR_NO_LEADER', async (context) => {
  const stores = await lonely(laterIn(context))
  for (const store of Object.values(stores)) {
    const began = performance.now()
    const limits = { timeout: 250 }
    const ends = await Promise.allSettled([
      store.get('k', limits),
      store.scan({}, limits),
      store.locks.query('k', limits),
      store.put('k', 'v', limits),
      store.getSequence('k', 1, limits),
      store.tryLockWith('k', null, false, { id: 'i', lease: '1s' }, limits),
      store.members.add('x', 'ws://127.0.0.1:1', limits),
    ])
    expect(performance.now() - began).toBeGreaterThanOrEqual(245)
    const errors = ends.map((end) => (end as PromiseRejectedResult).reason as LatchkeyError)
    // The member is asked again and again to add another one: an answer may be under way when the time is
    // over.
    const added = errors.pop() as LatchkeyError
    expect(['ERR_NO_LEADER', 'ERR_OUTCOME_UNKNOWN']).toContain(added.code)
    expect(errors.map((error) => error.code)).toEqual([
      ...Array(3).fill('ERR_TIMEOUT'),
      ...Array(3).fill('ERR_NO_LEADER'),
    ])
    for (const error of errors) {
      expect(error).toMatchObject({ outcome: 'not-applied', retryable: true, missing: ['b', 'c'] })
      expect(error.message).toContain('member a has not met b, c yet')
    }
    await expect(store.ready({ timeout: 100 })).rejects.toMatchObject({ name: 'LatchkeyError' })
    expect(await store.get('k', { consistency: 'stale' })).toBeUndefined()
    const status = await store.status()
    expect(status).toMatchObject({ id: 'a', leader: undefined })
    expect(['follower', 'candidate']).toContain(status.role)
  }
})

test.concurrent('no leader known: locks end as they say', async (context) => {
  const { embedded, remote } = await lonely(laterIn(context))
  for (const store of [embedded, remote]) {
    const lock = store.getDistributedLock('k', '10s')
    expect(await lock.tryLock({ timeout: 200 })).toBe(false)
    const waited = store.locks.acquire('k', { wait: 200 })
    await expect(waited).rejects.toMatchObject(
      code('ERR_NO_LEADER', { retryable: true, outcome: 'not-applied' }),
    )
    await expect(waited).rejects.toMatchObject({ key: 'k', missing: ['b', 'c'] })
    await expect(waited).rejects.toThrow('member a has not met b, c yet')
    expect((await waited.catch((error: LatchkeyError) => error)) as LatchkeyError).toHaveProperty(
      'waitedMillis',
    )
    const controller = new AbortController()
    const waiting = lock.lock({ signal: controller.signal })
    await sleep(50)
    controller.abort('enough')
    await expect(waiting).rejects.toMatchObject(code('ERR_ABORTED', { cause: 'enough' }))
  }
})

test.concurrent('tryLock without a wait: ERR_NO_LEADER after its deadline of 5 s', async (context) => {
  const { embedded } = await lonely(laterIn(context))
  const began = performance.now()
  await expect(embedded.getDistributedLock('k', '10s').tryLock()).rejects.toMatchObject(
    code('ERR_NO_LEADER', { outcome: 'not-applied' }),
  )
  expect(performance.now() - began).toBeGreaterThanOrEqual(4_950)
})

test.concurrent('a signal before sending: ERR_ABORTED, not applied; close(): ERR_CLOSED, not applied', async (context) => {
  const { embedded, remote } = await lonely(laterIn(context))
  for (const store of [embedded, remote]) {
    const controller = new AbortController()
    const writing = store.put('k', 'v', { signal: controller.signal })
    const reading = store.get('k', { signal: controller.signal })
    const iterating = store.keys({}, { signal: controller.signal }).next()
    controller.abort('why')
    for (const call of [writing, reading, iterating])
      await expect(call).rejects.toMatchObject(code('ERR_ABORTED', { outcome: 'not-applied', cause: 'why' }))
    const pending = [
      store.put('k', 'v'),
      store.get('k'),
      store.ready(),
      store.locks.acquire('k'),
      store.getDistributedLock('k', '1s').lock(),
      store.watch({ key: 'k' }).next(),
      store.scan(),
    ]
    const ends = Promise.allSettled(pending)
    await store.close()
    for (const end of await ends)
      expect(end).toMatchObject({
        status: 'rejected',
        reason: code('ERR_CLOSED', { outcome: 'not-applied' }),
      })
  }
})

test.concurrent('a write that was handed on: ERR_OUTCOME_UNKNOWN, never a plain failure; with a signal ERR_ABORTED, unknown', async (context) => {
  const trio = laterIn(context)(await openTrio(folder(), { electionTimeout: 10_000, heartbeat: 100 }))
  const leader = await trio.leader()
  const remote = laterIn(context)(await trio.connect())
  await remote.put('k', '1')
  await leader.put('k', '1')
  await Promise.all(Object.values(trio.stores).map((store) => store !== leader && store.close()))
  for (const store of [leader, remote]) {
    await expect(store.put('k', '2', { timeout: 200 })).rejects.toMatchObject(
      code('ERR_OUTCOME_UNKNOWN', { outcome: 'unknown', retryable: false }),
    )
    const controller = new AbortController()
    const writing = store.put('k', '3', { signal: controller.signal })
    await sleep(100)
    controller.abort('why')
    await expect(writing).rejects.toMatchObject(code('ERR_ABORTED', { outcome: 'unknown', cause: 'why' }))
    await expect(store.get('k', { timeout: 200 })).rejects.toMatchObject(
      code('ERR_TIMEOUT', { outcome: 'not-applied' }),
    )
  }
  const pending = remote.put('k', '4')
  await sleep(50)
  const end = expect(pending).rejects.toMatchObject(code('ERR_CLOSED', { outcome: 'unknown' }))
  await remote.close()
  await end
})

test.concurrent('unlock({ timeout }) that may have been applied: ERR_OUTCOME_UNKNOWN, not held any more', async (context) => {
  const trio = laterIn(context)(await openTrio(folder(), { electionTimeout: 10_000, heartbeat: 100 }))
  const leader = await trio.leader()
  const lock = leader.getDistributedLock('k', '30s')
  await lock.tryLock()
  await Promise.all(Object.values(trio.stores).map((store) => store !== leader && store.close()))
  await expect(lock.unlock({ timeout: 200 })).rejects.toMatchObject(
    code('ERR_OUTCOME_UNKNOWN', { outcome: 'unknown' }),
  )
  expect(lock.held).toBe(false)
  expect(lock.remainingMillis()).toBe(0)
})

test.concurrent("close({ holds: 'keep' }) of the leader hands over leadership, and its holds stay", async (context) => {
  const trio = laterIn(context)(await openTrio(folder(), { electionTimeout: 5_000, heartbeat: 100 }))
  const leader = await trio.leader()
  const { id } = await leader.status()
  const others = Object.entries(trio.stores).flatMap(([name, store]) => (name === id ? [] : [store]))
  const other = others[0] as Store
  const hold = await leader.locks.acquire('held', { lease: '60s' })
  const took = await activeMillis(async () => {
    await leader.close({ holds: 'keep' })
    expect(hold.held).toBe(true)
    await other.put('k', 'v', { timeout: '30s' })
  })
  expect(took).toBeLessThan(4_000)
  expect(await other.locks.query('held')).toMatchObject([{ fencingToken: hold.token }])
  expect(await other.locks.tryAcquire('held')).toBeUndefined()
  // Without a transfer of the leadership, the other members would soon elect too, because they notice that the
  // connection of the leader is closed. So the test also asks for the reason of the election.
  const metrics = (await Promise.all(others.map((store) => store.metrics()))).flat()
  const elections = metrics.flatMap(({ name, values }) => (name === 'latchkey_elections_total' ? values : []))
  const transfers = elections.filter(({ labels }) => labels.reason === 'transfer')
  expect(transfers.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0)
})
