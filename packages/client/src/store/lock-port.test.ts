// Test: what the lock objects ask of a store is asked as they are promised it.

import { READ, okAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { codeOf, follow, scene } from '../testing/stores.js'

// Without it: who holds a lock is asked of a member that was cut off a minute ago, and it names the holder of a minute ago; a holder
// that learns the cluster's time there believes in a hold that another has taken over.
test('R11: what a lock asks is never answered by a member that knows no leader, and never asked as a stale read', async () => {
  const { world, cluster, store } = scene('lock reads')
  const client = store()
  await world.run(50)
  cluster.page = (_, { read }) => (read[0] === READ.lockQuery ? okAnswer([]) : undefined)
  cluster.cutOff.add('a')
  cluster.elect('b')
  await world.run(10)
  const query = follow(client.locks.query('orders/'))
  const plain = follow(client.lockPort.read([READ.lockQuery, new Uint8Array(), false, false]))
  await world.run(1_000)
  expect([query, plain].map(codeOf)).toEqual(['pending', 'pending'])
  cluster.cutOff.clear()
  cluster.elect('a')
  await world.run(1_000)
  expect([query, plain].map(codeOf)).toEqual(['ok', 'ok'])
  const asked = cluster.requests.flatMap((request) => (request.kind === 'read' ? [request] : []))
  expect(asked.length).toBeGreaterThanOrEqual(2)
  expect(asked.every(({ stale }) => !stale)).toBe(true)
})
