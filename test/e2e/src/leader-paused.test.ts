// Test: the process of the leader is paused (SIGSTOP) and continues later.

import { Cluster, type Sidecar } from '@latchkey/test-chaos/cluster'
import { underLoad } from '@latchkey/test-chaos/load'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { activeMillis } from '../../../packages/latchkey/src/contract/testing/small-test-functions.js'

/** Of a default cluster. */
const ELECTION_TIMEOUT = 1_000
/** What real processes on a shared machine may add; without it the simulator measures the same. */
const BUSY = 2_000
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

/** The next leader, asked of the others: the paused one does not answer. */
async function nextLeader(paused: Sidecar): Promise<Sidecar> {
  const others = cluster.members.filter((member) => member !== paused)
  return until('a leader among the others', async () => {
    const known = await Promise.all(others.map((member) => member.status()))
    const leader = known.find((one) => one?.role === 'leader')
    return leader && cluster.get(leader.id)
  })
}

test('T1: a paused leader is replaced within 2.5 election timeouts, and harmless when it wakes', async () => {
  const report = await underLoad(cluster.urls, async (load) => {
    await load.more(30)
    const paused = await cluster.leader()
    paused.signal('SIGSTOP')
    const electing = nextLeader(paused)
    expect(await activeMillis(() => electing)).toBeLessThan(2.5 * ELECTION_TIMEOUT + BUSY)
    const next = await electing
    await load.more(30)
    paused.signal('SIGCONT')
    await until('the woken one follows', async () => (await paused.status())?.role === 'follower')
    await load.more(30)
    expect((await cluster.leader()).id).toBe(next.id)
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
})
