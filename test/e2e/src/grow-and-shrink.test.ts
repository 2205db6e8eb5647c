// Test: a cluster of one grows to five and shrinks to three, under load.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { underLoad } from '@latchkey/test-chaos/load'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start({ size: 1 })
})
afterAll(() => cluster.destroy())

const voters = (id: string) =>
  expect.poll(async () => {
    const members = (await cluster.get(id).status())?.members ?? []
    return members
      .filter(({ role }) => role === 'voter')
      .map((member) => member.id)
      .sort()
  })

test('M11: from one to five and to three, its first leader gone: no call fails, a hold is kept', async () => {
  const store = await connect(cluster.urls)
  const hold = await store.locks.acquire('throughout', { lease: '30s' })
  const report = await underLoad(cluster.urls, async (load) => {
    for (const id of ['b', 'c', 'd', 'e']) {
      await cluster.grow(id, store)
      await load.more(20)
    }
    await voters('a').toEqual(['a', 'b', 'c', 'd', 'e'])
    // The leader is among those who leave: the one that has led from the first entry on.
    for (const id of ['a', 'b']) {
      await cluster.shrink(id, store)
      await load.more(20)
    }
    await voters('c').toEqual(['c', 'd', 'e'])
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
  expect(hold.held).toBe(true)
  await hold.release()
  await store.close()
})
