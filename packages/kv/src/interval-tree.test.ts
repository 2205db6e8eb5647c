// Test: the tree finds exactly the ranges that contain a key, after ranges were added and removed.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { NO_END, IntervalTree, type Span } from './interval-tree.js'

const names = (spans: readonly Span[]) => spans.map(({ start, end }) => `${start}..${end}`).sort()

function foundBy(index: IntervalTree<Span>, key: string): string[] {
  const found: Span[] = []
  index.find(key, (span) => found.push(span))
  return names(found)
}

test('keys, prefixes and ranges, some inside others', () => {
  const index = new IntervalTree<Span>()
  const everything = { start: '', end: NO_END }
  const one = { start: 'user/7', end: 'user/7\0' }
  const users = { start: 'user/', end: 'user0' }
  const others = { start: 'a', end: 'user/3' }
  for (const span of [users, everything, one, others]) index.add(span)
  expect(foundBy(index, 'user/7')).toEqual(names([everything, one, users]))
  expect(foundBy(index, 'user/')).toEqual(names([everything, users, others]))
  expect(foundBy(index, '\xff\xff')).toEqual(names([everything]))
  expect(foundBy(index, '')).toEqual(names([everything]))
  expect(foundBy(index, 'user/3')).toEqual(names([everything, users]))
  expect(index.get('user/', 'user0')).toBe(users)
  index.remove(users)
  expect(index.get('user/', 'user0')).toBeUndefined()
  expect(foundBy(index, 'user/7')).toEqual(names([everything, one]))
})

test('the same result as a search through all, for random ranges', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = seededRandom(`ranges ${seed}`)
    const index = new IntervalTree<Span>()
    const model: Span[] = []
    const key = () =>
      String.fromCharCode(...Array.from({ length: random.between(0, 4) }, () => random.between(0xfa, 0x100)))
    for (let step = 0; step < 300; step++) {
      const start = key()
      const end = random.between(0, 5) === 0 ? NO_END : key()
      if (random.between(0, 3) > 0 && index.get(start, end) === undefined) {
        model.push({ start, end })
        index.add(model.at(-1) as Span)
      } else if (model.length > 0) {
        const [gone] = model.splice(random.between(0, model.length), 1)
        index.remove(gone as Span)
      }
      const asked = key()
      const expected = model.filter((span) => span.start <= asked && asked < span.end)
      expect(foundBy(index, asked), `seed ${seed}, step ${step}`).toEqual(names(expected))
    }
  }
})

test('of ten thousand prefixes few are compared', () => {
  const index = new IntervalTree<Span>()
  let compared = 0
  for (let i = 0; i < 10_000; i++) {
    const start = `elsewhere/${String(i).padStart(5, '0')}`
    const end = `elsewhere/${String(i).padStart(5, '0')}0`
    index.add({
      end,
      get start() {
        compared++
        return start
      },
    })
  }
  foundBy(index, 'here')
  compared = 0
  foundBy(index, 'elsewhere/05000')
  foundBy(index, 'beside/7')
  expect(compared).toBeLessThan(100)
})
