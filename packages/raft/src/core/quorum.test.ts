// Test: quorums give the same results as the definition of a majority, tried by brute force.

import { expect, test } from 'vitest'
import { isQuorum, majority, majorityValue, quorumValue, tally } from './quorum.js'

const ids = (size: number) => Array.from({ length: size }, (_, i) => `m${i}`)

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length === 0) yield []
  for (let i = 0; i < items.length; i++) {
    const rest = [...items.slice(0, i), ...items.slice(i + 1)]
    for (const tail of permutations(rest)) yield [items[i] as T, ...tail]
  }
}

/** The definition: the largest value that more than half of the voters have reached. */
function byDefinition(values: readonly number[]): number {
  let best = 0
  for (const candidate of values) {
    const reached = values.filter((value) => value >= candidate).length
    if (reached > values.length / 2 && candidate > best) best = candidate
  }
  return best
}

function subsets(list: readonly string[]): string[][] {
  return Array.from({ length: 2 ** list.length }, (_, mask) => list.filter((__, i) => mask & (1 << i)))
}

test('E6: half of an even number is no majority, for sizes 1 to 7', () => {
  expect([1, 2, 3, 4, 5, 6, 7].map(majority)).toEqual([1, 2, 2, 3, 3, 4, 4])
  for (let size = 1; size <= 7; size++) {
    for (const yes of subsets(ids(size))) {
      const half = { voters: ids(size), outgoing: [] }
      expect(isQuorum(half, (id) => yes.includes(id))).toBe(yes.length > size / 2)
    }
  }
})

test('L20, E6: the committed index of sizes 1 to 7, in every order of the acknowledgements', () => {
  let checked = 0
  for (let size = 1; size <= 7; size++) {
    const shapes =
      size < 6
        ? [
            [6, 6, 5, 4, 4, 3, 2],
            [1, 2, 3, 4, 5, 6, 7],
            [9, 9, 0, 0, 0, 9, 1],
          ]
        : [[6, 6, 5, 4, 4, 3, 2]]
    for (const shape of shapes) {
      const wanted = byDefinition(shape.slice(0, size))
      for (const values of permutations(shape.slice(0, size))) {
        const of = new Map(ids(size).map((id, i) => [id, values[i] as number]))
        if (majorityValue(ids(size), (id) => of.get(id) as number) !== wanted) expect(values).toBe(wanted)
        checked++
      }
    }
  }
  expect(checked).toBeGreaterThan(6000)
})

test('L20: five that acknowledged 6, 6, 5, 4, 4 have committed 5', () => {
  const values = [6, 6, 5, 4, 4]
  expect(majorityValue(ids(5), (id) => values[Number(id.slice(1))] as number)).toBe(5)
})

test('M4: elections and commits of all pairs of halves of up to five members', () => {
  const all = ids(5)
  const halves = subsets(all).filter((half) => half.length > 0)
  for (const voters of halves) {
    for (const outgoing of halves) {
      for (const yes of subsets(all)) {
        const both = [voters, outgoing].every(
          (half) => half.filter((id) => yes.includes(id)).length > half.length / 2,
        )
        if (isQuorum({ voters, outgoing }, (id) => yes.includes(id)) !== both)
          expect({ voters, outgoing, yes }).toBe(both)
        const value = quorumValue({ voters, outgoing }, (id) => (yes.includes(id) ? 7 : 3))
        if (value !== (both ? 7 : 3)) expect({ voters, outgoing, yes }).toBe(value)
      }
    }
  }
})

test('M9: a member in neither half does not count', () => {
  const half = { voters: ['a', 'b', 'c'], outgoing: [] }
  expect(
    tally(
      half,
      new Map([
        ['a', true],
        ['learner', true],
        ['z', true],
      ]),
    ),
  ).toBe('open')
  expect(quorumValue(half, (id) => (id === 'learner' || id === 'a' ? 9 : 1))).toBe(1)
})

test('votes are lost when no quorum can be reached any more', () => {
  const joint = { voters: ['a', 'b', 'c'], outgoing: ['c', 'd'] }
  expect(tally(joint, new Map([['d', false]]))).toBe('lost')
  expect(
    tally(
      joint,
      new Map([
        ['a', true],
        ['b', true],
      ]),
    ),
  ).toBe('open')
  expect(
    tally(
      joint,
      new Map([
        ['a', true],
        ['c', true],
        ['d', true],
      ]),
    ),
  ).toBe('won')
})

test('nobody can agree on nothing', () => {
  expect(majorityValue([], () => 9)).toBe(0)
})
