// Test: events go to the groups whose range has their key, and the events of one revision stay together.

import { utf8 } from '@latchkey/base'
import type { EventResult } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { bytesOf, Groups, within } from './watches-grouped-by-range.js'

const event = (revision: number, key: string, value: string | null = null, before: string | null = null) =>
  [revision, 0, utf8(key), value && utf8(value), before && utf8(before)] as unknown as EventResult
const sink = {} as never
const range = (start: string | null, end: string | null) => ({
  start: start === null ? null : utf8(start),
  end: end === null ? null : utf8(end),
})

test('each group takes the events of its range, and equal ranges are one group', () => {
  const groups = new Groups()
  const all = groups.enter(range(null, null), sink, 5, 'x')
  const some = groups.enter(range('b', 'd'), sink, 7, 'x')
  const same = groups.enter(range('b', 'd'), sink, 8, 'y')
  expect([same.group === some.group, all.group === some.group]).toEqual([true, false])
  expect(some).toMatchObject({ by: 'x', isUpToDate: false, next: 7, sentUpTo: 6, credit: 0, over: false })
  const [a, b, d] = [event(9, 'a', '12'), event(9, 'b', '123', '1'), event(9, 'd')]
  // The event of 'b' counts for both groups.
  expect([a, b, d].map(bytesOf)).toEqual([3, 5, 1])
  expect(groups.add([a, b, d])).toBe(3 + 5 + 1 + 5)
  expect(groups.add([a])).toBe(3)
  expect(groups.taken()).toEqual([
    [all.group, [a, b, d, a]],
    [some.group, [b]],
  ])
  expect(groups.taken()).toEqual([])
  // The group goes with its last watch.
  groups.leave(some)
  groups.leave(some)
  expect(groups.add([b])).toBe(10)
  groups.leave(same)
  expect(groups.add([b])).toBe(5)
})

test('a watch sends as many events as it may, and all of the last revision', () => {
  const events = [1, 1, 2, 2, 2, 3].map((revision) => event(revision, 'k'))
  expect([-1, 0, 1, 2, 3, 4, 5, 6, 7].map((credit) => within(credit, events))).toEqual([
    0, 0, 2, 2, 5, 5, 5, 6, 6,
  ])
  expect(within(0, [])).toBe(0)
})
