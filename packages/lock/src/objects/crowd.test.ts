// Test: a crowd is a set, and may be changed by what walks through it.

import { expect, test } from 'vitest'
import { Crowd, NOWHERE } from './crowd.js'

const people = (count: number) => Array.from({ length: count }, (_, name) => ({ name, place: NOWHERE }))

function names(crowd: Crowd<{ name: number; place: number }>): number[] {
  const met = new Set<number>()
  crowd.forEach(({ name }) => met.add(name))
  return [...met].sort((a, b) => a - b)
}

test('who is added is there once, until deleted; deleting says whether', () => {
  const crowd = new Crowd<{ name: number; place: number }>()
  const [a, b, c] = people(3) as [{ name: number; place: number }, ...{ name: number; place: number }[]]
  for (const one of [a, b, c, a]) crowd.add(one as typeof a)
  expect([crowd.size, names(crowd)]).toEqual([3, [0, 1, 2]])
  expect([crowd.delete(a), crowd.delete(a)]).toEqual([true, false])
  expect(names(crowd)).toEqual([1, 2])
  crowd.add(a)
  expect(crowd.delete(c as typeof a)).toBe(true)
  expect([crowd.size, names(crowd)]).toEqual([2, [0, 1]])
})

test('whoever stays is met, whoever was taken out before is not, whatever goes meanwhile', () => {
  for (let go = 0; go < 7; go++) {
    const crowd = new Crowd<{ name: number; place: number }>()
    const all = people(7)
    for (const one of all) crowd.add(one)
    const met = new Set<number>()
    crowd.forEach((one) => {
      expect(one.place).not.toBe(NOWHERE)
      met.add(one.name)
      // Itself, and one more.
      if (one.name % 2 === 0) crowd.delete(one)
      crowd.delete(all[go] as (typeof all)[number])
    })
    for (const { name, place } of all) if (place !== NOWHERE) expect(met.has(name)).toBe(true)
    expect(names(crowd)).toEqual([1, 3, 5].filter((name) => name !== go))
  }
})
