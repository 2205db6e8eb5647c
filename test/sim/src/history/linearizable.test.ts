// Test: the check of linearizability gives the known result for each history, and agrees with brute force on
// small histories.

import { seededRandom } from '@latchkey/base'
import { describe, expect, test } from 'vitest'
import type { Operation } from './history.js'
import { linearizable } from './linearizable.js'
import { checkRegister, register, relevant } from './register.js'

const NEVER = Number.POSITIVE_INFINITY

const write = (call: number, end: number, value: number, seen = 0): Operation => ({
  client: 0,
  kind: 'write',
  value,
  expected: 0,
  call,
  end,
  seen,
  swapped: true,
})
const read = (call: number, end: number, seen: number): Operation => ({
  ...write(call, end, 0, seen),
  kind: 'read',
})
const swap = (call: number, end: number, expected: number, value: number, seen: number): Operation => ({
  ...write(call, end, value, seen),
  kind: 'swap',
  expected,
  swapped: seen === expected,
})

describe('R2: linearizable histories of a register', () => {
  test.each([
    ['nothing', []],
    ['one after the other', [write(0, 1, 1), read(2, 3, 1)]],
    ['a read beside a write sees the old value', [write(0, 5, 1), read(1, 2, 0)]],
    ['a read beside a write sees the new value', [write(0, 5, 1), read(1, 2, 1)]],
    ['an unknown write takes effect late', [write(0, NEVER, 1), read(1, 2, 0), read(3, 4, 1)]],
    ['an unknown write never takes effect', [write(0, NEVER, 1), read(1, 2, 0), read(8, 9, 0)]],
    ['a swap that fails tells what it saw', [write(0, 1, 1), swap(2, 3, 7, 2, 1), read(4, 5, 1)]],
    ['two swaps, one wins', [swap(0, 5, 0, 1, 0), swap(0, 5, 0, 2, 1), read(6, 7, 1)]],
  ])('%s', (_, history) => {
    expect(checkRegister(history).ok).toBe(true)
  })

  test.each([
    ['a stale read', [write(0, 1, 1), read(2, 3, 0)]],
    ['a value from nowhere', [read(0, 1, 5)]],
    ['back to the old value', [write(0, 9, 1), read(1, 2, 1), read(3, 4, 0)]],
    ['a lost write', [write(0, 1, 1), write(2, 3, 2, 0)]],
    ['two swaps both win', [swap(0, 5, 0, 1, 0), swap(0, 5, 0, 2, 0)]],
    ['an unknown write took effect before it was called', [read(0, 1, 1), write(2, NEVER, 1)]],
    [
      'an unknown write takes effect twice',
      [write(0, NEVER, 1), read(1, 2, 1), write(3, 4, 2, 1), read(5, 6, 1)],
    ],
  ])('not: %s', (_, history) => {
    expect(checkRegister(history).ok).toBe(false)
  })

  test('says where the search got stuck', () => {
    expect(linearizable([write(0, 1, 1), read(2, 3, 0)], register)).toEqual({ ok: false, stuckAt: 1 })
  })
})

/** Every order that respects real time, with every subset of the unknown ones. */
function bruteForce(history: readonly Operation[], done: number, state: number): boolean {
  const open = history.filter((_, i) => ((done >> i) & 1) === 0)
  if (open.every(({ end }) => end === NEVER)) return true
  return history.some((operation, i) => {
    if (((done >> i) & 1) === 1) return false
    if (open.some(({ end }) => end < operation.call)) return false
    const next = register.step(state, operation)
    return next !== undefined && bruteForce(history, done | (1 << i), next)
  })
}

test('agrees with brute force on small histories by chance', () => {
  const random = seededRandom('histories')
  const verdicts = [0, 0]
  for (let round = 0; round < 3_000; round++) {
    const history = Array.from({ length: random.between(1, 6) }, (_, i): Operation => {
      const call = random.between(0, 12)
      const end = random.chance(0.2) ? NEVER : call + random.between(1, 8)
      const seen = random.between(0, 4)
      const kind = random.pick(['read', 'write', 'swap'] as const)
      if (kind === 'read') return read(call, call + random.between(1, 8), seen)
      return kind === 'write'
        ? write(call, end, i + 1, seen)
        : swap(call, end, random.between(0, 3), i + 1, seen)
    })
    const expected = bruteForce(history, 0, 0)
    verdicts[expected ? 1 : 0] = (verdicts[expected ? 1 : 0] as number) + 1
    expect(linearizable(history, register).ok, JSON.stringify(history)).toBe(expected)
    // Leaving out what nobody saw changes no verdict.
    expect(checkRegister(history).ok, JSON.stringify(history)).toBe(expected)
  }
  expect(Math.min(...verdicts)).toBeGreaterThan(100)
})

test('what nobody saw is left out, what was seen stays', () => {
  const seen = write(0, NEVER, 1)
  const unseen = write(0, NEVER, 2)
  expect(relevant([seen, unseen, read(3, 4, 1)])).toEqual([seen, read(3, 4, 1)])
})

test('a long history of one key is judged quickly', () => {
  const history: Operation[] = []
  for (let i = 1; i <= 3_000; i++) {
    history.push(write(i * 10, i * 10 + 5, i, i - 1))
    history.push(read(i * 10 + 6, i * 10 + 25, i % 2 === 0 ? i : i))
  }
  // Each read overlaps the next write, and may see either.
  expect(checkRegister(history).ok).toBe(true)
})
