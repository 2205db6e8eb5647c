// Test: a store of one member in memory, from open to close.

import { Watchdog } from '@latchkey/lock'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Store } from '@latchkey/client'
import { activeMillis } from '../contract/testing/small-test-functions.js'
import { open } from './open.js'

let store: Store

beforeEach(async () => {
  store = await open({ id: 'a', memory: true })
  await store.ready()
})
afterEach(() => store.close())

test('keys and values', async () => {
  expect(await store.put('k', 'v')).toEqual({ revision: 1 })
  expect(await store.get('k', { as: 'string' })).toBe('v')
  expect(await store.get('absent')).toBeUndefined()
  expect(await store.compareAndPut('k', 'v', 'w')).toBe(true)
  expect(await store.deleteRange('a', 'z')).toBe(1)
  expect(await store.scan({ prefix: 'k' })).toEqual([])
})

test('a lock, RheaKV’s shape', async () => {
  const watchdog = new Watchdog()
  const lock = store.getDistributedLock('orders/42', '10s', watchdog)
  expect(await lock.tryLock()).toBe(true)
  expect(await lock.tryLock()).toBe(true)
  const other = store.getDistributedLock('orders/42', '10s')
  expect(await other.tryLock()).toBe(false)
  expect(await lock.unlock()).toEqual({ acquires: 1 })
  expect(await lock.unlock()).toEqual({ acquires: 0 })
  expect(await other.tryLock({ timeout: '30s' })).toBe(true)
  await other.unlock()
  watchdog.close()
})

test('a waiter is granted by a push, and a lease runs out by itself', async () => {
  const first = await store.locks.acquire('k', { lease: '100ms', renew: false })
  const waiting = store.locks.acquire('k', { lease: '1s', wait: '50s' })
  expect(await activeMillis(() => waiting)).toBeLessThan(4_000)
  const second = await waiting
  expect(first.held).toBe(false)
  expect(second.token).toBeGreaterThan(first.token)
  await second.release()
})

test('a watch tells what happens', async () => {
  const seen: unknown[] = []
  const watch = store.watch({ prefix: 'w/' }, { as: 'string' })
  const done = (async () => {
    for await (const event of watch) {
      seen.push([event.type, event.key, event.value, event.previous])
      if (seen.length === 3) return
    }
  })()
  await new Promise((resolve) => setTimeout(resolve, 50))
  await store.put('w/a', '1')
  await store.put('w/a', '2')
  await store.delete('w/a')
  await done
  expect(seen).toEqual([
    ['put', 'w/a', '1', undefined],
    ['put', 'w/a', '2', '1'],
    ['delete', 'w/a', undefined, '2'],
  ])
})

test('status, and the end', async () => {
  expect(await store.status()).toMatchObject({ id: 'a', role: 'leader', leader: 'a' })
  await store.close()
  await store.close()
  await expect(store.get('k')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
})
