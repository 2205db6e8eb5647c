// Test: the measured round trip time of pings, also while an answer is missing.

import { expect, test } from 'vitest'
import { RoundTrip } from './round-trip-time.js'

test('the last answer counts, and a ping without an answer shows as a time that grows', () => {
  const trip = new RoundTrip()
  expect(trip.at(5)).toBeUndefined()
  trip.asked(10)
  trip.answered(13)
  expect(trip.at(400)).toBe(3)
  trip.asked(500)
  expect(trip.at(501)).toBe(3)
  trip.asked(1000)
  expect(trip.at(1500)).toBe(1000)
  trip.answered(1600)
  // The second ping was sent while the first one waited: its answer says nothing more.
  trip.answered(1601)
  expect(trip.at(1700)).toBe(1100)
})
