// Test: the check of a history finds two holders at a time and a token that was issued twice, and reports
// nothing else.

import { expect, test } from 'vitest'
import { judgeHolds, type RecordedHold } from './random-concurrent-calls.js'

const hold = (token: number, from: number, deadline: number, endedAt?: number): RecordedHold => ({
  key: 'k',
  id: `id${token}`,
  token,
  from,
  deadline,
  endedAt,
})

test('holds that follow each other are right: after a release in the same millisecond, or after the deadline', () => {
  expect(judgeHolds([hold(1, 100, 200, 150), hold(2, 150, 250), hold(3, 251, 300)])).toEqual([])
})

test('EN1: a hold that begins at the deadline of another, or before its release, is found', () => {
  expect(judgeHolds([hold(1, 100, 200), hold(2, 200, 300)])).toHaveLength(1)
  expect(judgeHolds([hold(1, 100, 200, 150), hold(2, 149, 300)])).toHaveLength(1)
  expect(judgeHolds([{ ...hold(2, 100, 200), key: 'other' }, hold(1, 150, 300)])).toEqual([])
})

test('EN2: a token that was given twice is found, and so is one that went back', () => {
  expect(judgeHolds([hold(1, 100, 200, 150), hold(1, 160, 300)])[0]).toMatch(/given twice/)
  expect(judgeHolds([hold(2, 100, 200, 150), hold(1, 160, 300)])).toHaveLength(1)
})

test('EN1: without fencing holds are in the order of their beginnings, whatever their tokens are', () => {
  expect(judgeHolds([hold(9, 100, 200, 150), hold(2, 150, 250)], 'from')).toEqual([])
  expect(judgeHolds([hold(9, 100, 200), hold(2, 200, 300)], 'from')).toHaveLength(1)
})
