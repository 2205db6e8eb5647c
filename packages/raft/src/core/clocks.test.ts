// Test: the two clocks of the core: the clock of the election timers, and the cluster time that a leader
// writes into entries.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { ClusterClock } from './cluster-time.js'
import { Timers } from './election-timer-clock.js'

test('T2: a stall counts for a quarter of the election timeout, and nothing fires for a heartbeat after it', () => {
  const timers = new Timers({ electionTimeout: 1000, heartbeat: 100 }, 0)
  timers.advance(900)
  expect(timers.clock).toBe(250)
  timers.advance(1150)
  expect([timers.clock, timers.due(500)]).toEqual([500, true])
  timers.advance(4000)
  expect([timers.clock, timers.due(750)]).toEqual([750, false])
  timers.advance(4099)
  expect(timers.due(750)).toBe(false)
  timers.advance(4100)
  expect(timers.due(750)).toBe(true)
})

test('T3: a reading that goes back changes nothing', () => {
  const timers = new Timers({ electionTimeout: 1000, heartbeat: 100 }, 500)
  timers.advance(400)
  timers.advance(510)
  expect(timers.clock).toBe(10)
  const clock = new ClusterClock(70, 500, 1000)
  expect([clock.read(400), clock.read(510)]).toEqual([70, 80])
})

test('CT2: each reading adds the time since the last one, at most the clamp, and a stamp is rounded down', () => {
  const clock = new ClusterClock(1000, 0, 300)
  expect([clock.read(0.6), clock.read(1.2), clock.read(301.2), clock.read(5000)]).toEqual([
    1000, 1001, 1301, 1601,
  ])
})

test('CT1, CT2: stamps never go back, and never run ahead of the clock by a millisecond', () => {
  const random = seededRandom('cluster-time')
  for (let run = 0; run < 200; run++) {
    let now = random.between(0, 1e9)
    const clock = new ClusterClock(random.between(0, 1e12), now, 100)
    const first = { now, time: clock.read(now) }
    let last = first.time
    for (let i = 0; i < 200; i++) {
      now += random.chance(0.1) ? -random.float() * 5 : random.float() * (random.chance(0.1) ? 500 : 3)
      const time = clock.read(now)
      if (time < last || time - first.time > Math.max(now - first.now, last - first.time) + 1) {
        expect({ run, i, time, last }).toBe('in order')
      }
      last = time
    }
  }
})

test('K41: a clock reading from before a stall makes a later stamp too early, never too late', () => {
  const clock = new ClusterClock(0, 0, 1000)
  clock.read(500)
  expect(clock.read(100)).toBe(500)
})

test('K3: a clock that jumps by a day adds one clamp, and cluster time goes on from there at once', () => {
  const clock = new ClusterClock(0, 0, 1000)
  expect(clock.read(100)).toBe(100)
  expect(clock.read(100 + 86_400_000)).toBe(1100)
  expect(clock.read(100 + 86_400_000 + 50)).toBe(1150)
})
