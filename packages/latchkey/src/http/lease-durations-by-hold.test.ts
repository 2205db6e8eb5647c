// Test: the lease of a hold is remembered for its renewals, and only the 100,000 newest leases are kept.

import { utf8 } from '@latchkey/base'
import { expect, test } from 'vitest'
import { CallsInProgress } from './calls-in-progress-per-hold.js'
import { holdName, Leases } from './lease-durations-by-hold.js'

const KEY = utf8('k')

test('a lease that is not known is ten seconds', () => {
  const leases = new Leases()
  leases.set(KEY, 'a', 5_000)
  expect([leases.get(KEY, 'a'), leases.get(KEY, 'b'), leases.get(utf8('ka'), '')]).toEqual([
    5_000, 10_000, 10_000,
  ])
  leases.delete(KEY, 'a')
  expect(leases.get(KEY, 'a')).toBe(10_000)
  expect(holdName(utf8('a'), 'bc')).not.toBe(holdName(utf8('ab'), 'c'))
})

test('the oldest lease is forgotten, and a lease that is set again is new', () => {
  const leases = new Leases()
  for (let i = 0; i < 100_000; i++) leases.set(KEY, `${i}`, 1_000 + i)
  leases.set(KEY, '0', 7_000)
  expect(leases.get(KEY, '1')).toBe(1_001)
  leases.set(KEY, 'one more', 1_000)
  expect([leases.get(KEY, '0'), leases.get(KEY, '1'), leases.get(KEY, '2')]).toEqual([7_000, 10_000, 1_002])
})

test('calls of one hold know of each other, and the last one leaves nothing', async () => {
  const calls = new CallsInProgress()
  const seen: boolean[] = []
  await calls.with('x', async (isShared) => {
    seen.push(isShared())
    await calls.with('y', async (isOther) => void seen.push(isOther()))
    await expect(
      calls.with('x', async (isSecond) => {
        seen.push(isShared(), isSecond())
        throw new Error('failed')
      }),
    ).rejects.toThrow('failed')
    seen.push(isShared())
  })
  await calls.with('x', async (isShared) => void seen.push(isShared()))
  expect(seen).toEqual([false, false, true, true, false, false])
})
