// Test: a hold is renewed early enough for its answer and for a change of leader, and not more often than
// needed.

import { describe, expect, test } from 'vitest'
import { patienceOf, pauseOf, renewAfter, RoundTrip } from './renewal-times.js'

/** The time of the lease that is left when the hold is renewed. */
const left = (lease: number, roundTrip: number, electionTimeout: number) =>
  lease - renewAfter(lease, roundTrip, electionTimeout)

describe('K42: what is left of a lease when it is renewed', () => {
  test('a third of the lease is left when answers are quick and the hold cannot survive a change of leader', () => {
    for (const lease of [300, 999, 1_999, 10_000, 3_600_000]) {
      expect(left(lease, 0, 0)).toBeCloseTo(lease / 3)
      expect(left(lease, 0, lease / 2 + 1)).toBeCloseTo(lease / 3)
    }
  })

  // Without this law: a hold of ten seconds has three left when the leader is killed, and is lost during the
  // election.
  test('from a lease of two election timeouts on, the time of a change of leader is left, but at most three quarters of the lease', () => {
    for (const timeout of [150, 1_000, 5_000]) {
      expect(left(timeout * 2 - 1, 0, timeout)).toBeCloseTo((timeout * 2 - 1) / 3)
      expect(left(timeout * 2, 0, timeout)).toBeCloseTo(timeout * 1.5)
      expect(left(timeout * 2.5, 0, timeout)).toBeCloseTo(timeout * 1.875)
      expect(left(timeout * 3, 0, timeout)).toBeCloseTo(timeout * 2.25)
      expect(left(timeout * 6, 0, timeout)).toBeCloseTo(timeout * 2.25)
      expect(left(timeout * 9, 0, timeout)).toBeCloseTo(timeout * 3)
    }
  })

  test('time is left for an answer a quarter slower than the last ones, and for two more tries', () => {
    for (const [lease, roundTrip] of [
      [10_000, 4_000],
      [10_000, 9_000],
      [600, 500],
    ] as const)
      expect(left(lease, roundTrip, 0)).toBeCloseTo(roundTrip * 1.25 + pauseOf(lease) * 2)
    expect(left(10_000, 1_000, 0)).toBeCloseTo(10_000 / 3)
    expect(left(10_000, 1_000, 2_000)).toBeCloseTo(4_500)
    expect(left(10_000, 4_000, 2_000)).toBeCloseTo(6_250)
    // There is not enough time for that, so the renewal is due at once.
    expect(renewAfter(1_000, 2_000, 0)).toBeLessThan(0)
  })
})

test('K42: tries are a sixteenth of the lease apart, from 5 ms to 5 s, and each is waited for as long as its answer can prove something', () => {
  for (const [lease, pause] of [
    [0, 5],
    [80, 5],
    [81, 6],
    [96, 6],
    [1_600, 100],
    [1_601, 101],
    [80_000, 5_000],
    [86_400_000, 5_000],
  ] as const)
    expect(pauseOf(lease), `${lease}`).toBe(pause)
  expect([300, 40_000, 40_001, 86_400_000].map(patienceOf)).toEqual([600, 80_000, 80_000, 80_000])
})

test('K42: the expected round trip rises at once, and falls by a quarter of the difference with each quicker answer', () => {
  const trip = new RoundTrip()
  expect(trip.expected).toBe(0)
  for (const ms of [10, 1_000]) {
    trip.took(ms)
    expect(trip.expected).toBe(ms)
  }
  trip.took(100)
  expect(trip.expected).toBe(775)
  trip.took(775)
  expect(trip.expected).toBe(775)
  for (let i = 0; i < 40; i++) trip.took(100)
  expect(trip.expected).toBeCloseTo(100, 0)
  trip.took(900)
  expect(trip.expected).toBe(900)
})
