// Test: members do work that takes long, while a lock of three seconds is held and others write. Nobody has
// to wait until this work ends.

import { join } from 'node:path'
import { connect, type Store } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { unlessStalled } from '../../../packages/latchkey/src/contract/testing/small-test-functions.js'

/** More than the history keeps as events: the leader adds them up before the command is in its log. */
const KEYS = 101_000
const PART = 10_100
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

const name = (i: number) => `large/${String(i).padStart(9, '0')}`

async function fill(store: Store): Promise<void> {
  for (let from = 0; from < KEYS; from += PART) {
    const rows = Array.from({ length: PART }, (_, i) => [name(from + i), 'v'.repeat(60)] as const)
    await store.putAll(rows, { timeout: '60s' })
  }
}

/** Writes one row after the other until it is told to end; how many were written. */
function writer(store: Store): () => Promise<number> {
  let ends = false
  const written = (async () => {
    let count = 0
    for (; !ends; count++) await store.put('other', String(count), { timeout: '30s' })
    return count
  })()
  return () => {
    ends = true
    return written
  }
}

async function readAll(store: Store): Promise<number> {
  let count = 0
  for await (const _ of store.entries({ prefix: 'large/' })) count++
  return count
}

test('L21, A15: scans, a snapshot, a backup and a deleteRange of 101,000 keys: the leader stays, a lock of 3 s is kept, writes go on', async () => {
  const [store, other, reader] = await Promise.all([
    connect(cluster.urls),
    connect(cluster.urls),
    connect(cluster.urls),
  ])
  let backups = 0
  await unlessStalled(700, async () => {
    await fill(store)
    const { term } = await store.status()
    const hold = await other.locks.acquire('lock', { lease: '3s' })
    const end = writer(other)
    const [first, second] = await Promise.all([
      readAll(store),
      readAll(reader),
      store.snapshot({ timeout: '60s' }),
      store.backup(join(cluster.folder, `${++backups}.backup`), { timeout: '60s' }),
    ])
    expect([first, second]).toEqual([KEYS, KEYS])
    expect(await store.deleteRange('large/', 'large0', { timeout: '60s' })).toBe(KEYS)
    expect(await readAll(reader)).toBe(0)
    expect(await end()).toBeGreaterThan(0)
    expect([hold.held, hold.signal.aborted]).toEqual([true, false])
    expect((await store.status()).term).toBe(term)
    await hold.release()
  })
  for (const one of [store, other, reader]) await one.close()
})
