// Test: the system's clock: its readings and its timers.

import { expect, test, vi } from 'vitest'
import { elapsed, microtask, nextTurn, systemClock } from './clock.js'

test('T8: elapsed is the largest of three differences: a suspended machine, a stepped wall, a running one', () => {
  const from = { hr: 0, up: 0, wall: 0 }
  expect(elapsed(from, { hr: 50, up: 40, wall: 50 })).toBe(50)
  expect(elapsed(from, { hr: 5, up: 90_000, wall: 5 })).toBe(89_990)
  expect(elapsed(from, { hr: 5, up: 0, wall: 3_600_000 })).toBe(3_600_000)
  expect(elapsed(from, { hr: 5, up: 0, wall: -3_600_000 })).toBe(5)
  expect(elapsed({ hr: 5, up: 5, wall: 5 }, from)).toBe(0)
})

test('uptime is read again as soon as another clock moved', () => {
  let wall = 1_000_000
  let reads = 0
  const date = vi.spyOn(Date, 'now').mockImplementation(() => wall)
  try {
    const clock = systemClock(() => ++reads)
    clock.instant()
    clock.instant()
    expect(reads).toBe(1)
    wall += 5_000
    expect(clock.instant().up).toBe(2_000)
    wall -= 9_000
    clock.instant()
    expect(reads).toBe(3)
  } finally {
    date.mockRestore()
  }
})

test('T4: long, negative and fractional delays are allowed', async () => {
  const clock = systemClock(() => 0)
  const ran: string[] = []
  const long = clock.after(2 ** 40, () => ran.push('long'), { ref: false })
  clock.after(-5, () => ran.push('negative'))
  clock.after(0.5, () => ran.push('fraction'))
  await expect.poll(() => ran.length).toBe(2)
  long.cancel()
  expect(ran.sort()).toEqual(['fraction', 'negative'])
})

test('T10: fake timers of a test runner change nothing: clocks, timers and turns go on', async () => {
  const clock = systemClock(() => 0)
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'Date', 'performance', 'queueMicrotask'],
  })
  try {
    const before = clock.instant()
    vi.setSystemTime('2099-01-01')
    const ran: string[] = []
    await new Promise<void>((resolve) => microtask(resolve))
    await new Promise<void>((resolve) => nextTurn(resolve))
    await new Promise<void>((resolve) => clock.after(20, resolve))
    clock.after(5, () => ran.push('cancelled')).cancel()
    await new Promise<void>((resolve) => clock.after(10, resolve))
    expect(ran).toEqual([])
    const passed = elapsed(before, clock.instant())
    expect(passed).toBeGreaterThanOrEqual(29)
    expect(passed).toBeLessThan(3_600_000)
  } finally {
    vi.useRealTimers()
  }
})
