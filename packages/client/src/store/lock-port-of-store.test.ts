// Test: the requests of lock objects need a leader and are never stale reads. A wait at a latch or barrier keeps the
// session alive.

import { OP, READ, okAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { codeOf, follow, operationsOf, scene } from '../testing/stores-on-fake-cluster.js'
import { partyPort } from './lock-port-of-store.js'

// Without this law: a client asks a member that was cut off a minute ago who holds a lock, and gets the
// holder of a minute ago. A holder that takes cluster time from that member believes in a hold that has
// passed to another one.
test('R11: a member that knows no leader never answers the request of a lock, and no such request is a stale read', async () => {
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

test('a wait at a latch or barrier keeps the session alive until the wait is over', async () => {
  const { world, cluster, warmStore } = scene('parties')
  const client = await warmStore({ sessionLife: 3_000 })
  const port = partyPort({ engine: client.engine, parties: new Set() }, client.lockPort)
  const over = port.onEnded('id', () => {})
  cluster.requests.length = 0
  await world.run(10_000)
  expect(new Set(operationsOf(cluster.requests))).toEqual(new Set([OP.keepAlive]))
  over()
  await world.run(3_000)
  cluster.requests.length = 0
  await world.run(30_000)
  expect(operationsOf(cluster.requests)).toEqual([])
})
