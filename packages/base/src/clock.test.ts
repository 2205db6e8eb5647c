// Test: the clock of the system gives the right elapsed times, and its timers fire in time.

import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { elapsed, microtask, nextTurn, systemClock } from './clock.js'

test('T8: elapsed: a suspended machine, a stepped wall, a running one', () => {
  const from = { hr: 0, up: 0, wall: 0 }
  expect(elapsed(from, { hr: 50, up: 40, wall: 50 })).toBe(50)
  expect(elapsed(from, { hr: 50, up: 60, wall: 49 })).toBe(50)
  expect(elapsed(from, { hr: 5, up: 90_000, wall: 5 })).toBe(90_015)
  expect(elapsed(from, { hr: 5, up: 0, wall: 3_600_000 })).toBe(3_600_000)
  expect(elapsed(from, { hr: 5, up: 0, wall: -3_600_000 })).toBe(15)
  expect(elapsed({ hr: 5, up: 5, wall: 5 }, from)).toBe(0)
})

test('T8, CT7: elapsed is never less than what has passed, while a machine is suspended and its wall clock is set', () => {
  const millis = (max: number) => fc.double({ min: 0, max, noNaN: true })
  /** The uptime in hundredths of a second, as it was up to five milliseconds ago. */
  const uptime = (at: number, stale: number) => Math.floor((at - stale) / 10) * 10
  fc.assert(
    fc.property(
      fc.record({
        begun: fc.integer({ min: 100, max: 100_000 }),
        ran: millis(5_000),
        suspended: fc.oneof(fc.constant(0), millis(40), millis(5_000)),
        set: fc.oneof(
          fc.constant(0),
          fc.integer({ min: -60, max: 60 }),
          fc.integer({ min: -9_000, max: 9_000 }),
        ),
        stale: fc.tuple(millis(5), millis(5)),
      }),
      ({ begun, ran, suspended, set, stale }) => {
        // What no clock shows (see `elapsed`).
        if (suspended < 30 && set < 0 && -set <= suspended + 3 + ran * 0.01) return
        const end = begun + ran + suspended
        const from = { hr: begun, up: uptime(begun, stale[0]), wall: begun }
        const to = { hr: begun + ran, up: uptime(end, stale[1]), wall: Math.floor(end) + set }
        const counted = elapsed(from, to)
        // The wall clock counts in whole milliseconds.
        expect(counted).toBeGreaterThanOrEqual(ran + suspended - 1)
        if (suspended === 0 && set === 0) expect(counted).toBeCloseTo(ran, 6)
      },
    ),
    { numRuns: 20_000 },
  )
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
    // A timer of Node may fire up to a millisecond early, and here are two.
    expect(passed).toBeGreaterThan(25)
    expect(passed).toBeLessThan(3_600_000)
  } finally {
    vi.useRealTimers()
  }
})
