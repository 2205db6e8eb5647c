// Test: docs/latches.md: waits at latches and barriers when stores close, sessions end, leaders change and
// members start again.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Store } from '../index.js'
import { open } from '../open/index.js'
import { testCluster } from '../test-cluster/index.js'
import { tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { code, sleep, until } from './testing/small-test-functions.js'
import { trioOfFile } from './testing/three-embedded-members.js'

const folder = tempFolders()
const { remote } = trioOfFile()

/** Enters a barrier of three parties. Resolves when `count` parties wait there: the call waits then too. */
async function entered(store: Store, name: string, count: number): Promise<{ call: Promise<unknown> }> {
  const call = store.barriers.enter(name, { parties: 3 })
  call.catch(() => {})
  await until(async () => (await store.barriers.query(name))[0]?.waiters === count)
  return { call }
}

describe('a party that is gone', () => {
  test('K72: a store that closes leaves its barriers: the others hear it at once, and a latch is not hurt', async () => {
    const [first, second] = [await remote(), await remote()]
    await first.latches.create('hurt', 1)
    const latch = first.latches.wait('hurt')
    latch.catch(() => {})
    const { call: own } = await entered(first, 'closing', 1)
    const { call: others } = await entered(second, 'closing', 2)
    const broken = expect(others).rejects.toMatchObject(
      code('ERR_BARRIER_BROKEN', { key: 'closing', retryable: true, message: /Generation 1 / }),
    )
    await first.close({ holds: 'keep' })
    await broken
    await expect(own).rejects.toMatchObject(code('ERR_CLOSED'))
    await expect(latch).rejects.toMatchObject(code('ERR_CLOSED'))
    expect(await second.latches.countDown('hurt')).toBe(0)
    expect(await second.barriers.enter('closing', { parties: 1 })).toEqual({ generation: 2, index: 0 })
  })

  test('K72: a session that an administrator ends: its own call hears it too', async () => {
    const [first, second] = [await remote(), await remote()]
    const { call: own } = await entered(first, 'ended', 1)
    const before = await second.sessions.list()
    const { call: others } = await entered(second, 'ended', 2)
    // The session of the store that has not asked for the list is one of those from before.
    for (const { id } of before) await second.sessions.end(id)
    await expect(own).rejects.toMatchObject(code('ERR_BARRIER_BROKEN'))
    await expect(others).rejects.toMatchObject(code('ERR_BARRIER_BROKEN'))
  })
})

test('a wait lives through a change of leader, on every store', async () => {
  await using cluster = await testCluster({ members: 3 })
  const stores = [...cluster.stores.values(), await cluster.connect()]
  const store = stores.at(-1) as Store
  await store.latches.create('moved', 1)
  const leader = await cluster.leader()
  const rest = stores.filter((one) => one !== cluster.stores.get(leader))
  const latches = rest.map((one) => one.latches.wait('moved'))
  const barriers = rest.map((one) => one.barriers.enter('moved', { parties: rest.length + 1 }))
  await sleep(50)
  await cluster.kill(leader)
  expect(await store.latches.countDown('moved', 1, { timeout: '30s' })).toBe(0)
  await Promise.all(latches)
  const last = await store.barriers.enter('moved', { parties: rest.length + 1, wait: '30s' })
  const all = await Promise.all([...barriers, last])
  expect(new Set(all.map(({ generation }) => generation)).size).toBe(1)
  expect(all.map(({ index }) => index).sort()).toEqual(all.map((_, index) => index))
})

test('D2: a latch and the generations of a barrier are there after a start', async () => {
  const dir = join(folder(), 'alone')
  const before = await open({ id: 'a', dir })
  await before.latches.create('l', 3)
  await before.latches.countDown('l')
  await before.barriers.enter('b', { parties: 1 })
  await before.close()
  await using store = await open({ id: 'a', dir })
  expect(await store.latches.create('l', 9)).toBe(false)
  expect(await store.latches.countDown('l')).toBe(1)
  expect(await store.barriers.enter('b', { parties: 1 })).toEqual({ generation: 2, index: 0 })
})

test('without a leader a wait that is over is ERR_NO_LEADER', async () => {
  await using cluster = await testCluster({ members: 3 })
  const store = await cluster.connect()
  await store.latches.create('l', 1)
  for (const id of [...cluster.stores.keys()].slice(1)) await cluster.kill(id)
  await until(async () => (await store.status()).leader === undefined)
  await expect(store.latches.wait('l', { timeout: 500 })).rejects.toMatchObject(code('ERR_NO_LEADER'))
  await expect(store.barriers.enter('b', { parties: 2, wait: 500 })).rejects.toMatchObject(
    code('ERR_NO_LEADER'),
  )
})
