// Test: a short version of the pauses in `npm run chaos`: the leader is paused, no lock is lost and no call
// fails.

import { expect, test } from 'vitest'
import { unlessStalled } from '../../../packages/latchkey/src/contract/testing/small-test-functions.js'
import { Cluster } from './cluster.js'
import { leaderStops } from './leader-stops.js'

test('C13, K42: the leader stands still for 3 s: watched locks live on, and calls are answered soon after the next one’s start', async () => {
  const cluster = await Cluster.start()
  try {
    // A longer lease than is promised for, and more time: this machine may be busy.
    await unlessStalled(1_000, async () => {
      const report = await leaderStops(cluster, { rounds: 2, lease: 15_000, locks: 8 })
      expect([report.lost, report.errors]).toEqual([0, []])
      expect(report.afterLeader.most).toBeLessThan(4_000)
      expect(report.embeddedAfterLeader.most).toBeLessThan(4_000)
    })
  } finally {
    await cluster.destroy()
  }
})
