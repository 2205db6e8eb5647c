// Test: members with different states notice the difference, both when idle and under load.

import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { type StateHashes, StateCheck } from './state-hash-check.js'

function world() {
  const clock = new ManualClock()
  const told: StateHashes[] = []
  const found: string[] = []
  const held: number[] = []
  const own = { index: 5, spaces: { data: 'x', locks: 'y' } as Record<string, string> }
  /** Whether a search finds the row. */
  const row = { known: false }
  const check = new StateCheck({
    clock,
    applied: () => own.index,
    stateHashes: () => ({ ...own }),
    tell: (stateHashes) => told.push(stateHashes),
    differs: async (from, index, spaces) => {
      found.push(`${from} at ${index}: ${spaces.join()}`)
      return row.known
    },
    hold: async (index) => held.push(index),
  })
  return { clock, told, found, held, own, row, check }
}

test('A10: a difference is found and named, whoever comes to rest first', () => {
  const first = world()
  first.check.receive('b', { index: 5, spaces: { data: 'x', locks: 'other' } })
  expect(first.found).toEqual([])
  first.clock.advance(4_000)
  expect(first.found).toEqual(['b at 5: locks'])
  first.check.receive('c', { index: 5, spaces: { data: 'x', locks: 'y', counters: 'z' } })
  first.check.receive('d', { index: 5, spaces: { data: 'x', locks: 'y' } })
  expect(first.found).toEqual(['b at 5: locks', 'c at 5: counters'])
})

test('hashes behind different entries are not compared, and nothing is told while entries come', () => {
  const { clock, told, found, own, check } = world()
  for (let i = 0; i < 5; i++) {
    clock.advance(2_000)
    own.index++
  }
  check.receive('b', { index: 5, spaces: { data: 'older', locks: 'y' } })
  expect([told.length, found.length]).toEqual([0, 0])
  clock.advance(6_000)
  clock.advance(60_000)
  expect(told.map((stateHashes) => stateHashes.index)).toEqual([own.index])
  check.close()
  expect(clock.armed).toBe(0)
})

test('A10: at a mark they are compared while entries come, also with one that is some marks behind', () => {
  const { told, found, check } = world()
  for (const index of [10, 20, 30]) void check.onStateHash({ index, spaces: { data: `${index}` } })
  expect(told.map((stateHashes) => stateHashes.index)).toEqual([10, 20, 30])
  check.receive('b', { index: 10, spaces: { data: '10' } })
  check.receive('c', { index: 20, spaces: { data: 'other' } })
  expect(found).toEqual(['c at 20: data'])
  check.close()
})

test('who differed and is not known where: the next marks are waited at; no more once it is known, or all agree', async () => {
  const { held, row, found, check } = world()
  const mark = async (index: number, theirs: string) => {
    const waits = check.onStateHash({ index, spaces: { data: 'x' } }) !== undefined
    check.receive('b', { index, spaces: { data: theirs } })
    await Promise.resolve()
    await Promise.resolve()
    return waits
  }
  expect(await mark(1, 'x')).toBe(false)
  expect(await mark(2, 'other')).toBe(false)
  expect(await mark(3, 'other')).toBe(true)
  expect(held).toEqual([3])
  row.known = true
  expect(await mark(4, 'other')).toBe(true)
  expect(await mark(5, 'other')).toBe(false)
  expect(found.length).toBe(4)
  row.known = false
  expect(await mark(6, 'x')).toBe(false)
  await mark(7, 'other')
  expect(await mark(8, 'x')).toBe(true)
  expect(await mark(9, 'x')).toBe(false)
  check.close()
})
