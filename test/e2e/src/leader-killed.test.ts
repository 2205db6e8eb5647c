// Test: the process of the leader is killed: no call fails, and holds survive.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { leaderGaps } from '@latchkey/test-chaos/leader-gaps'
import { underLoad } from '@latchkey/test-chaos/load'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('C2: the leader is killed under load: no call of a client with default settings fails', async () => {
  const report = await underLoad(cluster.urls, async (load) => {
    await load.more(50)
    const dead = await cluster.leader()
    await dead.kill()
    await load.more(50)
    dead.start()
    await dead.ready()
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
})

test('K26: a hold outlives the leader: it is renewed through the next one', async () => {
  const store = await connect(cluster.urls)
  const hold = await store.locks.acquire('long', { lease: '6s' })
  const began = performance.now()
  const dead = await cluster.leader()
  await dead.kill()
  // Beyond the lease that the dead leader granted.
  await until('the lease has passed', () => performance.now() - began > 8_000)
  expect(hold.held).toBe(true)
  await hold.kv.put('still', 'mine')
  await hold.release()
  await store.close()
  dead.start()
  await dead.ready()
})

test('a killed leader is missed at once, not after an election timeout', async () => {
  const electionMillis = 40_000
  const patient = await Cluster.start({ flags: ['--election-timeout', String(electionMillis)] })
  onTestFinished(() => patient.destroy())
  const gaps = await leaderGaps(patient, 3)
  expect(Math.max(...gaps), `gaps: ${gaps.join(', ')} ms`).toBeLessThan(electionMillis / 4)
})
