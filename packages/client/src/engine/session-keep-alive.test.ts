// Test: a session is kept alive while somebody uses it, and a refused keep-alive is sent again after a pause.

import { OP } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { NO_FAULTS } from '../testing/fake-cluster.js'
import { operationsOf, scene } from '../testing/stores-on-fake-cluster.js'

test('the session is kept alive while somebody waits, and not otherwise', async () => {
  const { world, cluster, store } = scene()
  const client = store({ sessionLife: 3_000 })
  const end = client.engine.use()
  await world.run(30_000)
  const alive = operationsOf(cluster.requests)
  expect(alive.filter((op) => op === OP.openSession).length).toBe(1)
  const kept = alive.filter((op) => op === OP.keepAlive).length
  expect(kept).toBeGreaterThanOrEqual(25)
  expect(kept).toBeLessThanOrEqual(31)
  expect(cluster.machine.sessions.size).toBe(1)
  end()
  cluster.requests.length = 0
  await world.run(30_000)
  expect(operationsOf(cluster.requests)).toEqual([])
})

test('a session that a write has opened is kept alive from the moment at which somebody uses it', async () => {
  const { world, cluster, warmStore } = scene('used later')
  const client = await warmStore({ sessionLife: 3_000 })
  await world.run(1_000)
  cluster.requests.length = 0
  client.engine.use()
  await world.run(10_000)
  expect(new Set(operationsOf(cluster.requests))).toEqual(new Set([OP.keepAlive]))
  expect(cluster.requests.length).toBeGreaterThanOrEqual(8)
  expect(cluster.machine.sessions.size).toBe(1)
})

test('a keep-alive that is refused at once is not sent again at once', async () => {
  const { world, cluster, store } = scene()
  const client = store({ sessionLife: 3_000 })
  client.engine.use()
  await world.run(500)
  // As a member in the own process does: no time passes between the question and its answer.
  cluster.faults = { ...NO_FAULTS, latency: 0, never: 1 }
  cluster.requests.length = 0
  await world.run(2_400)
  const asked = operationsOf(cluster.requests).filter((op) => op === OP.keepAlive).length
  expect(asked).toBeGreaterThanOrEqual(3)
  expect(asked).toBeLessThanOrEqual(30)
  cluster.faults = NO_FAULTS
  await world.run(20_000)
  expect(cluster.machine.sessions.size).toBe(1)
})
