// Test: when a member without a leader believes the other members that the cluster has removed it.

import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { LeaderlessTime } from './leaderless-time.js'

function leaderlessTime(missedBy: string | undefined) {
  const clock = new ManualClock()
  const seen = { calm: false, told: [] as string[] }
  const one = new LeaderlessTime({
    clock,
    patience: 100,
    isCalm: () => seen.calm,
    missedBy: () => missedBy,
    tell: (by) => seen.told.push(by),
  })
  return { clock, seen, one }
}

test('M12: believed after a while without a leader', () => {
  const { clock, seen, one } = leaderlessTime('a')
  clock.advance(199)
  expect(seen.told).toEqual([])
  clock.advance(1)
  expect(seen.told).toEqual(['a'])
  one.close()
  expect(clock.armed).toBe(0)
})

test('M12: not while a leader is known, nor for a while after it was lost, nor when nobody says so', () => {
  const { clock, seen } = leaderlessTime('a')
  seen.calm = true
  clock.advance(1_000)
  seen.calm = false
  clock.advance(199)
  expect(seen.told).toEqual([])
  const other = leaderlessTime(undefined)
  other.clock.advance(1_000)
  expect(other.seen.told).toEqual([])
})
