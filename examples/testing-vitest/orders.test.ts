// These vitest tests show what happens to an order when its worker crashes: npx vitest run --root examples/testing-vitest
import { afterEach, expect, test, vi } from 'vitest'
import { testCluster } from 'latchkey/testing'

afterEach(() => {
  vi.useRealTimers()
})

test('the order of a crashed worker goes to the next one, and the first can write no more', async () => {
  await using cluster = await testCluster({ members: 3, clock: 'manual' })
  const { a, b } = cluster.stores
  const first = await a.locks.acquire('orders/42', { lease: '10s' })
  const waiting = b.locks.acquire('orders/42')
  await cluster.kill('a')
  await cluster.advance('11s')
  await using second = await waiting
  await second.kv.put('orders/42/state', 'charged')
  const late = b.put('orders/42/state', 'failed', { guard: { key: 'orders/42', token: first.token } })
  await expect(late).rejects.toMatchObject({ code: 'ERR_FENCED' })
})

test('a lease of an hour is over in no time', async () => {
  await using cluster = await testCluster({ clock: 'manual' })
  const hold = await cluster.stores.a.locks.acquire('report', { lease: '1h', renew: false })
  await cluster.advance('59m')
  expect(hold.held).toBe(true)
  await cluster.advance('2m')
  expect(hold.held).toBe(false)
})

test('fake timers stop your code, and not the cluster', async () => {
  vi.useFakeTimers()
  await using cluster = await testCluster()
  let sent = 0
  setInterval(() => sent++, 60_000)
  await using _hold = await cluster.stores.a.locks.acquire('mail')
  vi.advanceTimersByTime(180_000)
  expect(sent).toBe(3)
  await cluster.stores.b.put('sent', String(sent))
})
