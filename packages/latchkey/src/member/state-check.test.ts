// Test: members that hold different things find out at rest.

import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { type Stand, StateCheck } from './state-check.js'

function world() {
  const clock = new ManualClock()
  const told: Stand[] = []
  const found: string[] = []
  const own = { index: 5, spaces: { data: 'x', locks: 'y' } as Record<string, string> }
  const check = new StateCheck({
    clock,
    applied: () => own.index,
    stand: () => ({ ...own }),
    tell: (stand) => told.push(stand),
    differs: (from, index, spaces) => found.push(`${from} at ${index}: ${spaces.join()}`),
  })
  return { clock, told, found, own, check }
}

test('A10: a difference is found and named, whoever comes to rest first', () => {
  const first = world()
  first.check.hear('b', { index: 5, spaces: { data: 'x', locks: 'other' } })
  expect(first.found).toEqual([])
  first.clock.advance(4_000)
  expect(first.found).toEqual(['b at 5: locks'])
  first.check.hear('c', { index: 5, spaces: { data: 'x', locks: 'y', counters: 'z' } })
  first.check.hear('d', { index: 5, spaces: { data: 'x', locks: 'y' } })
  expect(first.found).toEqual(['b at 5: locks', 'c at 5: counters'])
})

test('hashes behind different entries are not compared, and nothing is told while entries come', () => {
  const { clock, told, found, own, check } = world()
  for (let i = 0; i < 5; i++) {
    clock.advance(2_000)
    own.index++
  }
  check.hear('b', { index: 5, spaces: { data: 'older', locks: 'y' } })
  expect([told.length, found.length]).toEqual([0, 0])
  clock.advance(6_000)
  clock.advance(60_000)
  expect(told.map((stand) => stand.index)).toEqual([own.index])
  check.close()
  expect(clock.armed).toBe(0)
})
