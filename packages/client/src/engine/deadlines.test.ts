// Test: deadlines end what is theirs in time, once, and what was answered long before its time leaves nothing behind.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { World } from '../testing/world.js'
import { Deadlines, type Due } from './deadlines.js'

interface Item extends Due {
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
