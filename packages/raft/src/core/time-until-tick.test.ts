// Test: the next tick comes in time for what is due first.

import { expect, test } from 'vitest'
import type { State } from './state.js'
import { untilTick } from './time-until-tick.js'

const until = (state: object) =>
  untilTick({ clock: 100, timers: { calmAt: 0 }, ...state } as unknown as State)
const leading = (heartbeatAt: number, transferUntil?: number) => ({
  leading: { heartbeatAt, transfer: transferUntil === undefined ? undefined : { until: transferUntil } },
})

test('a leader ticks for its heartbeat, and for the end of a transfer that comes before it', () => {
  expect(until(leading(150))).toBe(50)
  expect(until(leading(150, 120))).toBe(20)
  expect(until(leading(150, 170))).toBe(50)
  expect(until(leading(90))).toBe(-10)
})

test('another member ticks for its election, but not before it has heard no leader for long enough', () => {
  expect(until({ electionAt: 180, timers: { calmAt: 150 } })).toBe(80)
  expect(until({ electionAt: 180, timers: { calmAt: 190 } })).toBe(90)
})
