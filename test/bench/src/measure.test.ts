// Test: how the results of counted calls are computed, and when a load is measured a second time.

import { expect, onTestFinished, test, vi } from 'vitest'
import { type Figures, figuresOf, measure, steadily } from './measure.js'

const samplesWith = (early: number, late: number) => ({
  calls: early + late,
  millis: [...Array<number>(early).fill(1), ...Array<number>(late).fill(3)],
  ends: [...Array<number>(early).fill(100), ...Array<number>(late).fill(1_900)],
  errors: 0,
})

test('the halves of the counted time are compared by their rates, whichever is faster', () => {
  expect(figuresOf(samplesWith(50, 100), 4, 2)).toMatchObject({ halvesDiffer: 0.5, perSecond: 75, p50: 3 })
  expect(figuresOf(samplesWith(100, 50), 4, 2).halvesDiffer).toBe(0.5)
  expect(figuresOf(samplesWith(0, 0), 4, 2)).toMatchObject({ halvesDiffer: 1, samples: 0 })
})

const inTurn = (...halves: readonly number[]) => {
  const rest = [...halves]
  return async () => ({ halvesDiffer: rest.shift(), perSecond: rest.length }) as unknown as Figures
}

test('a load whose halves differ by more than a fifth is measured twice, and the steadier run is told', async () => {
  expect(await steadily(inTurn(0.2, 0))).toEqual({ halvesDiffer: 0.2, perSecond: 1 })
  expect(await steadily(inTurn(0.21, 0.05))).toEqual({ halvesDiffer: 0.05, perSecond: 0, second: true })
  // The first is told although the second was the last, and for its steadiness, not for its rate.
  expect(await steadily(inTurn(0.3, 0.4))).toEqual({ halvesDiffer: 0.3, perSecond: 1, second: true })
})

test('a call that was not done is an error, and is not counted among the calls that were', async () => {
  // Each look at the clock is a millisecond, so the number of calls is the same on each machine.
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1))
  onTestFinished(() => clock.mockRestore())
  const figures = await measure(async (_, turn) => turn % 2 === 0 || Promise.reject(new Error('no')), {
    ...{ callers: 1, seconds: 0.1, warmUpSeconds: 0 },
  })
  expect(figures.errors).toBeGreaterThan(0)
  expect(figures.samples).toBeGreaterThan(0)
  expect(Math.abs(figures.samples - figures.errors)).toBeLessThanOrEqual(1)
  expect(figures.firstError).toBe('Error: no')
})
