// Test: a waiter keeps its place in a queue while there is no leader for longer than the life of its session.

import { expect, test } from 'vitest'
import { testCluster } from './index.js'

// Without this law: cluster time stands while nobody leads, so the old session lives on in it when its client has given it up and opened
// another one. The client reads that it still waits. Then the old session ends, its waiters leave the queue, and nobody hears of it: the
// lock is free, and the caller waits for ever.
test('K23: nobody leads for longer than a session lives; afterwards the waiter is granted the lock when it is free', async () => {
  await using cluster = await testCluster({ members: 3, clock: 'manual' })
  const [owner, waiter] = [await cluster.connect(), await cluster.connect()]
  const hold = await owner.locks.acquire('x', { lease: '10m', renew: false })
  let granted = false
  const waiting = waiter.locks.acquire('x').then(() => {
    granted = true
  })
  while ((await owner.locks.query('x'))[0]?.waiters !== 1) await cluster.advance('50ms')
  for (const id of ['b', 'c'] as const) await cluster.kill(id)
  await cluster.advance('45s')
  for (const id of ['b', 'c'] as const) await cluster.start(id)
  await cluster.leader()
  // The old session ends in cluster time.
  for (let i = 0; i < 50; i++) await cluster.advance('1s')
  await hold.release()
  for (let i = 0; i < 50 && !granted; i++) await cluster.advance('100ms')
  expect(granted).toBe(true)
  await waiting
})
