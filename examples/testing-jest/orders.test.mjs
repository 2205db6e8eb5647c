// The tests of examples/testing-vitest with jest. Jest needs this flag for packages with ES modules:
// node --experimental-vm-modules node_modules/jest/bin/jest.js --rootDir examples/testing-jest
import { afterEach, expect, jest, test } from '@jest/globals'
import { testCluster } from 'latchkey/testing'

/** @type {import('latchkey/testing').TestCluster | undefined} */
let open
/** Starts a cluster, which `afterEach` closes. If your environment supports `await using`, use it instead. */
const start = async () => (open = await testCluster({ members: 3, clock: 'manual' }))

afterEach(async () => {
  jest.useRealTimers()
  await open?.close()
})

test('the order of a crashed worker goes to the next one, and the first can write no more', async () => {
  const cluster = await start()
  const { a, b } = cluster.stores
  const first = await a.locks.acquire('orders/42', { lease: '10s' })
  const waiting = b.locks.acquire('orders/42')
  await cluster.kill('a')
  await cluster.advance('11s')
  const second = await waiting
  await second.kv.put('orders/42/state', 'charged')
  const late = b.put('orders/42/state', 'failed', { guard: { key: 'orders/42', token: first.token } })
  await expect(late).rejects.toMatchObject({ code: 'ERR_FENCED' })
})

test('fake timers stop your code, and not the cluster', async () => {
  jest.useFakeTimers()
  const cluster = await start()
  let sent = 0
  setInterval(() => sent++, 60_000)
  const hold = await cluster.stores.a.locks.acquire('mail')
  jest.advanceTimersByTime(180_000)
  expect(sent).toBe(3)
  await cluster.advance('1m')
  expect(hold.held).toBe(true)
  await cluster.stores.b.put('sent', String(sent))
})
