// Test: locks between real processes.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('a lock is taken through one sidecar and refused through another', async () => {
  const [first, second] = await Promise.all([
    connect([cluster.get('a').url]),
    connect([cluster.get('b').url]),
  ])
  await using hold = await first.locks.acquire('orders/42', { lease: '30s', context: 'first' })
  expect(hold.held).toBe(true)
  expect(await second.locks.tryAcquire('orders/42', { lease: '30s' })).toBeUndefined()
  const [seen] = await second.locks.query('orders/')
  expect(seen).toMatchObject({ fencingToken: hold.token, context: 'first', acquires: 1, waiters: 0 })
  await hold.release()
  const next = await second.locks.tryAcquire('orders/42', { lease: '30s' })
  expect(next?.token).toBeGreaterThan(hold.token)
  await next?.release()
  await Promise.all([first.close(), second.close()])
})

test('K6: a guarded write is refused once the lock is another one’s', async () => {
  const [first, second] = await Promise.all([
    connect([cluster.get('a').url]),
    connect([cluster.get('c').url]),
  ])
  const lost = await first.locks.acquire('guarded', { lease: '200ms', renew: false })
  const next = await second.locks.acquire('guarded', { lease: '30s', wait: '50s' })
  expect(lost.held).toBe(false)
  expect(lost.signal.aborted).toBe(true)
  await expect(lost.kv.put('account', 'old')).rejects.toMatchObject({ code: 'ERR_FENCED' })
  await expect(
    first.put('account', 'old', { guard: { key: 'guarded', token: lost.token } }),
  ).rejects.toMatchObject({ code: 'ERR_FENCED' })
  await next.kv.put('account', 'new')
  expect(await first.get('account', { as: 'string' })).toBe('new')
  await next.release()
  await Promise.all([first.close(), second.close()])
})

test('waiters are served in the order of their arrival, through whichever sidecar they came', async () => {
  const stores = await Promise.all(cluster.urls.map((url) => connect([url])))
  const [a] = stores as [Awaited<ReturnType<typeof connect>>]
  const holder = await a.locks.acquire('fair', { lease: '20s' })
  const served: number[] = []
  const waiting: Promise<void>[] = []
  for (let i = 0; i < 6; i++) {
    const store = stores[i % stores.length] as typeof a
    waiting.push(
      store.locks.acquire('fair', { lease: '20s', wait: '60s' }).then(async (hold) => {
        served.push(i)
        await hold.release()
      }),
    )
    await expect.poll(async () => (await a.locks.query('fair'))[0]?.waiters).toBe(i + 1)
  }
  await holder.release()
  await Promise.all(waiting)
  expect(served).toEqual([0, 1, 2, 3, 4, 5])
  await Promise.all(stores.map((store) => store.close()))
})
