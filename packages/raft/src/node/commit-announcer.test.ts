// Test: if no append carries the commit index, followers learn it a moment later.

import { expect, test } from 'vitest'
import { ManualClock } from '../memory/index.js'
import { CommitAnnouncer } from './commit-announcer.js'

test('one message for all commits of a moment, with the commit index of its start', () => {
  const clock = new ManualClock()
  const told: number[] = []
  const announcer = new CommitAnnouncer(clock, (index) => told.push(index))
  announcer.committed(3)
  clock.advance(1)
  announcer.committed(4)
  expect(told).toEqual([])
  clock.advance(1)
  expect(told).toEqual([3])
  clock.advance(10)
  expect(told).toEqual([3])
  announcer.committed(5)
  announcer.stop()
  clock.advance(10)
  expect(told).toEqual([3])
})
