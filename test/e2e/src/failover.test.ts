// Test: stories of leaders that die, stop and pause, between real processes.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { Ledger } from '@latchkey/test-chaos/ledger'
import { afterEach, beforeEach, expect, test } from 'vitest'

let cluster: Cluster

beforeEach(async () => {
  cluster = await Cluster.start()
}, 60_000)
afterEach(() => cluster.destroy())

async function underLoad(deed: () => Promise<void>) {
  const store = await connect(cluster.urls)
  const ledgers = [new Ledger(store, 'x'), new Ledger(store, 'y')]
  let going = true
  const work = ledgers.map(async (ledger) => {
    while (going) await ledger.write()
  })
  await deed()
  going = false
  await Promise.all(work)
  const reports = await Promise.all(ledgers.map((ledger) => ledger.audit(store)))
  const errors = ledgers.flatMap((ledger) => [...ledger.errors.keys()])
  await store.close()
  return {
    errors,
    faults: reports.flatMap((report) => report.faults),
    acknowledged: reports.map((report) => report.acknowledged),
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('C2: the leader is killed under load: no call of a client with default settings fails', async () => {
  const report = await underLoad(async () => {
    await pause(300)
    await (await cluster.leader()).kill()
    await cluster.leader()
    await pause(500)
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
})

test('a rolling restart of all members: no call fails', async () => {
  const report = await underLoad(async () => {
    for (const member of cluster.members) {
      await pause(200)
      expect(await member.stop()).toBe(0)
      member.start()
      await member.ready()
    }
    await pause(200)
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
})

test('T7: a paused leader is replaced, and harmless when it wakes', async () => {
  const report = await underLoad(async () => {
    await pause(200)
    const paused = await cluster.leader()
    paused.signal('SIGSTOP')
    await pause(3_000)
    paused.signal('SIGCONT')
    await pause(700)
    expect((await cluster.leader()).id).not.toBe(paused.id)
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
})

test('K25: the holder is killed: the waiter is granted when the lease is over', async () => {
  const store = await connect(cluster.urls)
  const dead = await connect(cluster.urls)
  await dead.locks.acquire('cron', { lease: '1s', renew: false })
  const began = performance.now()
  const hold = await store.locks.acquire('cron', { lease: '1s', wait: '10s' })
  expect(performance.now() - began).toBeLessThan(2_500)
  await hold.release()
  await Promise.all([store.close(), dead.close()])
})

test('a hold outlives the leader: it is renewed through the next one', async () => {
  const store = await connect(cluster.urls)
  const hold = await store.locks.acquire('long', { lease: '3s' })
  await (await cluster.leader()).kill()
  await pause(4_000)
  expect(hold.held).toBe(true)
  await hold.kv.put('still', 'mine')
  await hold.release()
  await store.close()
})
