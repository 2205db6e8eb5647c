// Test: a store counts its own requests and connections correctly.

import { expect, test } from 'vitest'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

test('a request that is sent again is a retry, and a member that is found again a reconnect', async () => {
  const { world, cluster, warmStore } = scene('counts', ['a', 'b'])
  const client = await warmStore()
  const { counts } = client.engine
  expect([counts.retries, counts.reconnects]).toEqual([0, 0])
  // The answers of the first link are lost.
  cluster.mute = true
  cluster.readDelay = 60_000
  const calls = [follow(client.put('k', '1')), follow(client.put('l', '1')), follow(client.get('k'))]
  await world.run(20)
  cluster.mute = false
  cluster.readDelay = 0
  for (const link of [...cluster.links]) link.break()
  await world.run(1_000)
  expect(calls.map(codeOf)).toEqual(['ok', 'ok', 'ok'])
  expect([counts.retries, counts.reconnects]).toEqual([3, 1])
})

test('a move to the leader is no reconnect, and what was never sent is no retry', async () => {
  const { world, cluster, warmStore } = scene('counts of a move', ['a', 'b'])
  const client = await warmStore()
  const { counts } = client.engine
  cluster.elect('b')
  await world.run(500)
  expect([...cluster.links].map((link) => link.url)).toEqual(['b'])
  expect([counts.retries, counts.reconnects]).toEqual([0, 0])
  for (let i = 1; i <= 3; i++) {
    for (const link of [...cluster.links]) link.break()
    await world.run(2_000)
    expect([counts.retries, counts.reconnects]).toEqual([0, i])
  }
})
