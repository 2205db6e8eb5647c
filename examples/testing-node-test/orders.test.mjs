// The tests of examples/testing-vitest with Node's own test runner: node --test examples/testing-node-test/orders.test.mjs
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testCluster } from 'latchkey/testing'

await test('the order of a crashed worker goes to the next one, and the first can write no more', async (t) => {
  const cluster = await testCluster({ members: 3, clock: 'manual' })
  t.after(() => cluster.close())
  const { a, b } = cluster.stores
  const first = await a.locks.acquire('orders/42', { lease: '10s' })
  const waiting = b.locks.acquire('orders/42')
  await cluster.kill('a')
  await cluster.advance('11s')
  const second = await waiting
  await second.kv.put('orders/42/state', 'charged')
  const late = b.put('orders/42/state', 'failed', { guard: { key: 'orders/42', token: first.token } })
  await assert.rejects(late, { code: 'ERR_FENCED' })
})

await test('a leader that stands still is replaced, and finds out', async (t) => {
  const cluster = await testCluster({ clock: 'manual' })
  t.after(() => cluster.close())
  const leader = await cluster.leader()
  const hold = await cluster.stores[leader].locks.acquire('report', { lease: '10s' })
  await cluster.pause(leader)
  await cluster.advance('30s')
  assert.notEqual(await cluster.leader(), leader)
  await cluster.resume(leader)
  assert.equal(hold.held, false)
})

await test('fake timers stop your code, and not the cluster', async (t) => {
  t.mock.timers.enable()
  const cluster = await testCluster()
  t.after(() => cluster.close())
  let sent = 0
  const timer = setInterval(() => sent++, 60_000)
  const hold = await cluster.stores.a.locks.acquire('mail')
  t.mock.timers.tick(180_000)
  assert.equal(sent, 3)
  await hold.release()
  clearInterval(timer)
})
