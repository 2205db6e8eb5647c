// Test: an idle member wakes up seldom, and still meets each deadline.

import type { Clock } from '@latchkey/base'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../memory/index.js'
import { Ticker } from './tick-timer.js'
import { World } from './testing/world.js'

let world: World

beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

test('of several deadlines the earliest counts, and none after stop', () => {
  const clock = new ManualClock()
  const rang: number[] = []
  const ticker = new Ticker(clock, () => rang.push(clock.now()))
  ticker.within(50)
  ticker.within(20.2)
  ticker.within(40)
  ticker.within(Number.POSITIVE_INFINITY)
  clock.advance(100)
  expect(rang).toEqual([21])
  ticker.within(-5)
  clock.advance(10)
  expect(rang).toEqual([21, 101])
  ticker.within(5)
  ticker.stop()
  ticker.within(1)
  clock.advance(10)
  expect(rang).toEqual([21, 101])
  expect(clock.armed).toBe(0)
})

test('how late a tick came is told, because the process stood still', () => {
  const late: number[] = []
  let now = 0
  let ring = () => {}
  const after = (_: number, run: () => void) => {
    ring = run
    return { cancel: () => {} }
  }
  const ticker = new Ticker(
    { now: () => now, after } as unknown as Clock,
    () => {},
    (ms) => late.push(ms),
  )
  for (const came of [50, 450]) {
    ticker.within(50)
    now = came
    ring()
  }
  expect(late).toEqual([0, 350])
})

test('an idle member ticks once a heartbeat', async () => {
  const leader = await world.three({ electionTimeout: 1_000, heartbeat: 100 })
  await world.run(500)
  const before = new Map<string, number>()
  let ticks = 0
  for (const id of ['a', 'b', 'c']) {
    const { raft } = world.seat(id).replica!.node
    const tick = raft.tick.bind(raft)
    raft.tick = (now) => (ticks++, tick(now))
    before.set(id, raft.term)
  }
  await world.run(3_000)
  expect(ticks).toBeGreaterThan(3 * 25)
  expect(ticks).toBeLessThan(3 * 35)
  expect(leader.node.raft.term).toBe(before.get('a'))
})

test('a voter campaigns when its time is up, not at a later tick', async () => {
  const leader = await world.three({ electionTimeout: 1_000, heartbeat: 100 })
  await world.run(300)
  const other = ['a', 'b', 'c'].find((id) => id !== leader.node.options.id) as string
  const { raft } = world.seat(other).replica!.node
  world.isolate(leader.node.options.id)
  await world.run(100)
  const due = world.clock.now() + raft.untilTick
  const { term } = raft
  await world.until(() => raft.term > term || raft.state.campaign !== undefined || raft.leader === undefined)
  expect(world.clock.now()).toBeLessThanOrEqual(due + 15)
})
