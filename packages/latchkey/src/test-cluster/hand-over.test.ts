// Test: a lock, a permit or a leadership passes to the next waiter with one commit (docs/locks.md, section
// 7). The entry with the release also contains the grant, and the next holder has the lock although nothing
// else was written.

import type { Store } from '@latchkey/client'
import type { Duration } from '@latchkey/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { testCluster } from './index.js'

interface Held {
  readonly held: boolean
  release(): Promise<void>
}
interface Kind {
  take(store: Store, lease: Duration): Promise<Held>
  /** Default: as it was taken. */
  ask?(store: Store, lease: Duration): Promise<Held>
}
const exclusive = (store: Store, lease: Duration) => store.locks.acquire('k', { lease })
const KINDS: Record<string, Kind> = {
  'an exclusive lock': { take: exclusive },
  'an exclusive lock after a shared hold': {
    take: (store, lease) => store.locks.acquire('k', { lease, mode: 'shared' }),
    ask: exclusive,
  },
  'a permit': { take: (store, lease) => store.semaphores.acquire('k', { lease, of: 1 }) },
  'three permits of five': {
    take: (store, lease) => store.semaphores.acquire('k', { lease, of: 5, permits: 3 }),
  },
  leadership: { take: (store, lease) => store.elections.campaign('k', { lease, value: 'me' }) },
}

/** Entries that are committed from the release until the next one holds. */
async function entriesOf({ take, ask = take }: Kind, lease: Duration): Promise<number> {
  const cluster = await testCluster({ clock: 'manual' })
  onTestFinished(() => cluster.close())
  const [holder, waiter] = [await cluster.connect(), await cluster.connect()]
  const hold = await take(holder, lease)
  const asked = ask(waiter, lease)
  await cluster.advance(10)
  const commits = async () =>
    (await Promise.all([...cluster.stores.values()].map((store) => store.status()))).map(
      ({ commit }) => commit,
    )
  const before = Math.max(...(await commits()))
  await hold.release()
  const next = await asked
  const entries = Math.max(...(await commits())) - before
  expect([hold.held, next.held]).toEqual([false, true])
  return entries
}

test.each(Object.entries(KINDS))('one entry: %s', async (_, kind) => {
  expect(await entriesOf(kind, '10s')).toBe(1)
})

test('one entry more confirms a grant whose lease is longer than the life of its session, which bounds it until then', async () => {
  expect(await entriesOf({ take: exclusive }, '1h')).toBe(2)
})

test('one entry more confirms all tokens of a set of locks', async () => {
  expect(
    await entriesOf({ take: (store, lease) => store.locks.acquireAll(['k', 'l'], { lease }) }, '10s'),
  ).toBe(2)
})
