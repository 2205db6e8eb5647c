// Test: each call ends once at its deadline, and a call that was answered before leaves nothing behind.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { World } from '../testing/virtual-time.js'
import { Deadlines, type DeadlineItem } from './deadline-timer.js'

interface Item extends DeadlineItem {
  readonly at: number
  state: 'open' | 'removed' | 'ended'
}
const item = (at: number): Item => ({ at, state: 'open', bucket: 0, before: undefined, after: undefined })

test('many calls that may take a day each leave no more behind than a few', () => {
  const world = new World()
  const deadlines = new Deadlines<Item>(world.clock(), () => {})
  const open = Array.from({ length: 100 }, (_, i) => item(1_000_000 + i * 10))
  for (const one of open) deadlines.add(one, one.at)
  for (let i = 0; i < 200_000; i++) {
    if (i % 5 === 0) world.now++
    const one = item(world.now + 86_400_000)
    deadlines.add(one, one.at)
    deadlines.remove(one)
  }
  expect(deadlines.kept).toBeLessThan(2_000)
  deadlines.stop()
})

test('each ends once, not before its time and not much behind it, whatever is removed meanwhile', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = seededRandom(`deadlines ${seed}`)
    const world = new World()
    const all: Item[] = []
    const deadlines = new Deadlines<Item>(world.clock(), (one) => {
      expect(one.state).toBe('open')
      one.state = 'ended'
      expect(world.now).toBeGreaterThanOrEqual(one.at)
      // One that ends may end others.
      const other = all[random.between(0, all.length)] as Item
      if (other.state === 'open' && random.chance(0.2)) {
        deadlines.remove(other)
        other.state = 'removed'
      }
    })
    for (let step = 0; step < 3_000; step++) {
      const one = item(world.now + random.pick([0, 3, 50, 50_000, 5_000_000]) + random.between(0, 20))
      all.push(one)
      deadlines.add(one, one.at)
      const other = all[random.between(0, all.length)] as Item
      if (other.state === 'open' && random.chance(0.9)) {
        deadlines.remove(other)
        other.state = 'removed'
      }
      if (random.chance(0.1)) {
        await world.run(random.between(1, 40))
        expect(all.find(({ state, at }) => state === 'open' && at <= world.now - 4)).toBeUndefined()
      }
    }
    deadlines.stop()
  }
})

// Without it: each call with an earlier deadline than those before it leaves a timer behind, and a process
// that has nothing to do any more stays until the last of them.
test('there is one timer at a time, for the earliest deadline; none is left at the end', async () => {
  const world = new World()
  const ended: number[] = []
  const deadlines = new Deadlines<Item>(world.clock(), ({ at }) => ended.push(at))
  const items = [9_000, 5_000, 7_000, 2_000, 2_000, 1_500].map(item)
  for (const one of items) {
    deadlines.add(one, one.at)
    expect(world.pending).toBe(1)
  }
  await world.run(600)
  expect([ended, world.pending]).toEqual([[1_500], 1])
  await world.run(4_500)
  expect([ended, world.pending]).toEqual([[1_500, 2_000, 2_000, 5_000], 1])
  deadlines.remove(items[0] as Item)
  await world.run(2_000)
  expect([ended.at(-1), world.pending]).toEqual([7_000, 0])
  deadlines.add(item(20_000), 20_000)
  deadlines.stop()
  expect(world.pending).toBe(0)
})
