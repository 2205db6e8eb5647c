// Test: each combination of facts matches exactly one row of the recovery table, and each decision obeys the
// law.

import { expect, test } from 'vitest'
import { decide, type Facts, LOGS, MARKS, matches, PLACES, PROMISES, ROWS, STOPS } from './recovery-table.js'

function* combinations(): Generator<Facts> {
  for (const mark of MARKS)
    for (const log of LOGS)
      for (const stop of STOPS)
        for (const place of PLACES)
          for (const promised of PROMISES) yield { mark, log, stop, place, promised }
}

const ALL = [...combinations()]

test('each combination of facts matches exactly one row', () => {
  expect(ALL.length).toBe(300)
  const wrong = ALL.filter((facts) => ROWS.filter((row) => matches(row, facts)).length !== 1)
  expect(wrong).toEqual([])
})

test('each row is matched by some combination', () => {
  expect(ROWS.filter((row) => !ALL.some((facts) => matches(row, facts)))).toEqual([])
})

test('D2: a broken promise is never opened, cut or made anew, whatever else is true', () => {
  const opened = ALL.filter(({ mark, promised }) => mark === 'readable' && promised === 'broken').map(decide)
  expect(opened.filter((verdict) => ['open', 'cut', 'create'].includes(verdict))).toEqual([])
})

test('a log is made anew only where nothing was ever promised', () => {
  const created = ALL.filter((facts) => decide(facts) === 'create')
  expect(
    created.every(({ mark, log, promised }) => (mark === 'absent' && log === 'none') || promised === 'none'),
  ).toBe(true)
})

test('a tail is cut only in the last segment, behind what the mark promises', () => {
  const cut = ALL.filter((facts) => decide(facts) === 'cut')
  expect(cut).toEqual([{ mark: 'readable', log: 'some', stop: 'damaged', place: 'last', promised: 'kept' }])
})
