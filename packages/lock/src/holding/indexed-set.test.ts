// Test: IndexedSet behaves like a Set, even if items are deleted during an iteration.

import { expect, test } from 'vitest'
import { IndexedSet, NOT_IN_SET } from './indexed-set.js'

const people = (count: number) => Array.from({ length: count }, (_, name) => ({ name, index: NOT_IN_SET }))

function names(indexedSet: IndexedSet<{ name: number; index: number }>): number[] {
  const met = new Set<number>()
  indexedSet.forEach(({ name }) => met.add(name))
  return [...met].sort((a, b) => a - b)
}

test('a member that was added is in the set once, until it is deleted; delete returns whether it was there', () => {
  const indexedSet = new IndexedSet<{ name: number; index: number }>()
  const [a, b, c] = people(3) as [{ name: number; index: number }, ...{ name: number; index: number }[]]
  for (const one of [a, b, c, a]) indexedSet.add(one as typeof a)
  expect([indexedSet.size, names(indexedSet)]).toEqual([3, [0, 1, 2]])
  expect([indexedSet.delete(a), indexedSet.delete(a)]).toEqual([true, false])
  expect(names(indexedSet)).toEqual([1, 2])
  const copy = indexedSet.copy()
  indexedSet.add(a)
  expect(indexedSet.delete(c as typeof a)).toBe(true)
  expect([indexedSet.size, names(indexedSet)]).toEqual([2, [0, 1]])
  expect(copy.map(({ name }) => name).sort()).toEqual([1, 2])
})

test('forEach visits each member that stays, and none that was deleted before, while others are deleted', () => {
  for (let go = 0; go < 7; go++) {
    const indexedSet = new IndexedSet<{ name: number; index: number }>()
    const all = people(7)
    for (const one of all) indexedSet.add(one)
    const met = new Set<number>()
    indexedSet.forEach((one) => {
      expect(one.index).not.toBe(NOT_IN_SET)
      met.add(one.name)
      // Deletes this member and one other.
      if (one.name % 2 === 0) indexedSet.delete(one)
      indexedSet.delete(all[go] as (typeof all)[number])
    })
    for (const { name, index } of all) if (index !== NOT_IN_SET) expect(met.has(name)).toBe(true)
    expect(names(indexedSet)).toEqual([1, 3, 5].filter((name) => name !== go))
  }
})
