// Test: the process that holds a lock is killed, and the next waiter gets the lock.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { nodeProcess } from '@latchkey/test-chaos/command'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { activeMillis } from '../../../packages/latchkey/src/contract/testing/small-test-functions.js'
import { actor } from './actors/index.js'

/** Long enough for a holder that gets no processor for seconds. */
const LEASE = '6s'
const LEASE_MS = 6_000
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('K25: the holder is killed: the waiter is granted when the lease is over, with a higher token', async () => {
  const holder = nodeProcess([actor('holder'), 'cron', LEASE, ...cluster.urls])
  await expect.poll(() => holder.out).toMatch(/^\d+\n$/)
  const store = await connect(cluster.urls)
  let granted = false
  const waiting = store.locks.acquire('cron', { lease: LEASE, wait: '60s' }).then((hold) => {
    granted = true
    return hold
  })
  await expect.poll(async () => (await store.locks.query('cron'))[0]?.waiters).toBe(1)
  // It is alive, and renews: longer than the lease nobody else gets it.
  const began = performance.now()
  await expect.poll(() => performance.now() - began).toBeGreaterThan(LEASE_MS + 1_000)
  expect(granted).toBe(false)
  holder.child.kill('SIGKILL')
  // The lease, a tick, and what a busy machine takes.
  expect(await activeMillis(() => waiting)).toBeLessThan(LEASE_MS + 4_000)
  const hold = await waiting
  expect(hold.token).toBeGreaterThan(Number(holder.out))
  await hold.release()
  await store.close()
  await holder.ended
})
