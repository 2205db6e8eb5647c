// Test: a short version of `npm run chaos`: members are killed and started again under load, and each
// acknowledged write is checked.

import { expect, test } from 'vitest'
import { crashRounds } from './crash-rounds.js'

test('D8: rounds of kill -9, the leader, a follower, or all: no acknowledged write is lost, none is applied twice', async () => {
  const report = await crashRounds({ rounds: 6, writers: 3, seed: 7 })
  expect(report.faults).toEqual([])
  expect(report.kills.leader + report.kills.follower + report.kills.all).toBe(6)
  expect(report.acknowledged).toBeGreaterThan(100)
})
