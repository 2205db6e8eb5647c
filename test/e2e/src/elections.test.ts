// Test: elections and semaphores with real processes, while the Raft leader and the holders are killed and
// paused.

import { type ElectionEvent, connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { nodeProcess } from '@latchkey/test-chaos/command'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actor } from './actors/index.js'

const LEASE = '8s'
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('K65: a leader that is stopped is followed by the next, who has a higher token; the observer hears both, in order', async () => {
  const store = await connect(cluster.urls)
  const events: ElectionEvent[] = []
  const abort = new AbortController()
  const observing = (async () => {
    for await (const event of store.elections.observe('jobs', { signal: abort.signal })) events.push(event)
  })().catch(() => {})
  const first = nodeProcess([actor('leading'), 'jobs', LEASE, 'one', ...cluster.urls])
  await expect.poll(() => first.out).toMatch(/^\d+\n$/)
  const second = nodeProcess([actor('leading'), 'jobs', LEASE, 'two', ...cluster.urls])
  first.child.kill('SIGSTOP')
  // The members lose their leader too, while the election has none.
  const dead = await cluster.leader()
  await dead.kill()
  await expect.poll(() => second.out, { timeout: 60_000 }).toMatch(/^\d+\n$/)
  const [one, two] = [Number.parseInt(first.out, 10), Number.parseInt(second.out, 10)]
  expect(two).toBeGreaterThan(one)
  // It wakes up, and knows before it does anything.
  first.child.kill('SIGCONT')
  await expect.poll(() => first.out, { timeout: 60_000 }).toContain('lost')
  const told = () => events.filter(({ type }) => type === 'elected').map(({ token }) => token)
  await expect.poll(told).toEqual([one, two])
  expect(Buffer.from((await store.elections.leader('jobs'))?.value ?? []).toString()).toBe('two')
  for (const { child, ended } of [first, second]) {
    child.kill('SIGKILL')
    await ended
  }
  abort.abort()
  await observing
  await store.close()
  dead.start()
  await dead.ready()
})

test('K63: never more than three of eight workers at once, while the leader is killed; each gets its turn', async () => {
  const stores = await Promise.all(Array.from({ length: 8 }, () => connect(cluster.urls)))
  let inside = 0
  let most = 0
  let turns = 0
  const worker = async (store: (typeof stores)[number]) => {
    for (let turn = 0; turn < 6; turn++) {
      const permit = await store.semaphores.acquire('slots', { of: 3, lease: '30s', wait: '100s' })
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setTimeout(resolve, 30))
      expect(permit.held).toBe(true)
      inside--
      turns++
      await permit.release()
    }
  }
  const working = Promise.all(stores.map(worker))
  await until('some have had their turn', () => turns > 8)
  const dead = await cluster.leader()
  await dead.kill()
  await working
  expect([turns, most]).toEqual([48, 3])
  expect(await stores[0]?.semaphores.query('slots')).toEqual([])
  await Promise.all(stores.map((store) => store.close()))
  dead.start()
  await dead.ready()
})
