// Test: random draws stay within their bounds, reach every value between them, and depend on the seed alone.

import { expect, test } from 'vitest'
import { seededRandom } from './seeded-random.js'

const list = (seed: number | string, count = 8) => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => random.next())
}

test('the same seed draws the same, another one draws others, whether it is a number or a text', () => {
  expect(list(7)).toEqual(list(7))
  expect(list(7)).toEqual(list('7'))
  const seeds = ['', 'a', 'b', 'ab', 'ba', 0, 1, 2, 10, 'story', 'story/x']
  const firsts = seeds.map((seed) => list(seed, 4).join())
  expect(new Set(firsts).size).toBe(seeds.length)
  // Seeds that are neighbours give unrelated numbers, from the first draw on.
  const high = Array.from({ length: 200 }, (_, seed) => seededRandom(seed).float())
  expect(high.filter((one) => one < 0.5).length).toBeGreaterThan(70)
  expect(high.filter((one) => one < 0.5).length).toBeLessThan(130)
})

test('between gives whole numbers from the first to before the last, and each of them', () => {
  const random = seededRandom('between')
  for (const [low, high] of [
    [0, 6],
    [5, 9],
    [-3, 3],
    [1_000_000, 1_000_004],
  ] as const) {
    const seen = new Map<number, number>()
    for (let i = 0; i < 4_000; i++) {
      const one = random.between(low, high)
      seen.set(one, (seen.get(one) ?? 0) + 1)
    }
    expect([...seen.keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: high - low }, (_, i) => low + i),
    )
    for (const count of seen.values()) expect(count).toBeGreaterThan(4_000 / (high - low) / 2)
  }
  expect(random.between(4, 5)).toBe(4)
})

test('floats are from 0 to before 1 and spread evenly; a chance is what it says; each item is picked', () => {
  const random = seededRandom('floats')
  const tenths = Array.from({ length: 10 }, () => 0)
  for (let i = 0; i < 10_000; i++) {
    const one = random.float()
    expect(one >= 0 && one < 1).toBe(true)
    tenths[Math.floor(one * 10)] = (tenths[Math.floor(one * 10)] as number) + 1
  }
  for (const count of tenths) {
    expect(count).toBeGreaterThan(800)
    expect(count).toBeLessThan(1_200)
  }
  const hits = (probability: number) =>
    Array.from({ length: 2_000 }, () => random.chance(probability)).filter(Boolean).length
  expect([hits(0), hits(1)]).toEqual([0, 2_000])
  expect(hits(0.25)).toBeGreaterThan(400)
  expect(hits(0.25)).toBeLessThan(600)
  const picked = new Set(Array.from({ length: 200 }, () => random.pick(['a', 'b', 'c'])))
  expect([...picked].sort()).toEqual(['a', 'b', 'c'])
})

test('a fork is a stream of its own: it is named, not drawn, and draws in one change nothing in the other', () => {
  const one = seededRandom('world')
  const other = seededRandom('world')
  const early = one.fork('network')
  for (let i = 0; i < 100; i++) early.next()
  for (let i = 0; i < 10; i++) expect(one.next()).toBe(other.next())
  const late = other.fork('network')
  expect(Array.from({ length: 5 }, () => late.next())).toEqual(list('world/network', 5))
  expect(one.fork('disk').next()).not.toBe(one.fork('network').next())
})
