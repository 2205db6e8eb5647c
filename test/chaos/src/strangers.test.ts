// Test: a cluster of real processes continues although many connections are silent, slow or half-open, and
// some readers never read. The full size is `npm run chaos -- --strangers 5000 --readers 20`.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { unlessStalled } from '../../../packages/latchkey/src/contract/testing/small-test-functions.js'
import { Cluster } from './cluster.js'
import { strangers } from './strangers.js'

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('C20, C22, C23: no call fails, nobody else leads, and the memory is bounded', async () => {
  // An election follows when a leader stands still for as long as the election timeout.
  await unlessStalled(500, async () => {
    const report = await strangers(cluster, { sockets: 600, readers: 9, seconds: 12 })
    expect(report.failed).toEqual([])
    expect(report.leaderChanged).toBe(false)
    expect(report.calls).toBeGreaterThan(20)
    // All of them were there at once, and each was closed by its member, not by itself.
    expect(report.mostOpen).toBeGreaterThan(300)
    expect(report.closed).toBeGreaterThan(600)
    for (const { before, most } of report.memory) expect(most - before).toBeLessThan(450)
  })
})
