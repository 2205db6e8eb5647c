// Test: the counts of recent revisions are known exactly, and a count that does not fit is not known.

import { expect, test } from 'vitest'
import { RevisionCounts } from './revision-event-counts.js'

test('count, bytes and hash of each revision, also after the arrays have grown', () => {
  const counts = new RevisionCounts()
  expect(counts.count(0)).toBe(0)
  for (let revision = 5; revision < 5_000; revision++)
    counts.note(revision, 1 + (revision % 200), 3 * revision, 7 * revision, 0)
  for (const revision of [5, 1_023, 1_024, 1_028, 1_029, 2_048, 4_999]) {
    expect(counts.count(revision)).toBe(1 + (revision % 200))
    expect([counts.size(revision), counts.hash(revision)]).toEqual([3 * revision, 7 * revision])
  }
  expect([counts.count(4), counts.count(5_000)]).toEqual([0, 0])
})

test('more than 255 events, and events with rows of their own, are not known', () => {
  const counts = new RevisionCounts()
  counts.note(1, 255, 1, 1, 0)
  counts.note(2, 256, 1, 1, 0)
  counts.note(3, 2, 1, 1, 1)
  expect([1, 2, 3].map((revision) => counts.count(revision))).toEqual([255, 0, 0])
})

test('a gap and forget() leave only the revisions behind them', () => {
  const counts = new RevisionCounts()
  for (const revision of [1, 2, 3, 7, 8, 9]) counts.note(revision, 1, 1, 1, 0)
  expect([2, 3, 6, 7, 9].map((revision) => counts.count(revision))).toEqual([0, 0, 0, 1, 1])
  counts.forget(8)
  counts.forget(2)
  expect([7, 8, 9].map((revision) => counts.count(revision))).toEqual([0, 1, 1])
})
