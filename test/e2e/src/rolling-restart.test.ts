// Test: all members are restarted one after the other, as for an upgrade, and no call fails.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { underLoad } from '@latchkey/test-chaos/load'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('a rolling restart of all members: no call fails, a hold is kept, a watch has no gap', async () => {
  const store = await connect(cluster.urls, { as: 'string' })
  const hold = await store.locks.acquire('kept', { lease: '30s' })
  const watch = store.watch({ prefix: 'ledger/' })
  const seen: number[] = []
  const watching = (async () => {
    for await (const event of watch) seen.push(event.revision)
  })()
  const report = await underLoad(cluster.urls, async (load) => {
    for (const member of [...cluster.members]) {
      await load.more(30)
      expect(await member.stop()).toBe(0)
      member.start()
      await member.ready()
    }
    await load.more(30)
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
  expect(hold.held).toBe(true)
  await expect.poll(() => seen.length).toBe(report.acknowledged)
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen).toEqual([...seen].sort((a, b) => a - b))
  await hold.release()
  await store.close()
  await watching.catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_CLOSED' }))
})

test('the leader is stopped gracefully under load: no proposal fails', async () => {
  const report = await underLoad(cluster.urls, async (load) => {
    await load.more(30)
    const leader = await cluster.leader()
    expect(await leader.stop()).toBe(0)
    await load.more(30)
    expect((await cluster.leader()).id).not.toBe(leader.id)
    leader.start()
    await leader.ready()
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
})
