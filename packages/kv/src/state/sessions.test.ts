// Test: a session keeps the replies from its number `done` on, counts their bytes, and writes to the store what
// is in memory.

import { expect, test } from 'vitest'
import type { RowChange, RowStore } from '../storage/row-store-interface.js'
import { Sessions } from './sessions.js'

const answer = (size: number) => ({ bytes: new Uint8Array(size), fromTable: false })
const NO_STORE = { get: () => undefined } as unknown as RowStore

/** A session with a reply of each number. Its first number is 1. */
function filled(...numbers: number[]) {
  const sessions = new Sessions(NO_STORE)
  const session = sessions.open(1, 1_000, 'ana', 0)
  for (const number of numbers) sessions.keep(session, number, 7, answer(10))
  const kept = () =>
    session.replies
      .all()
      .map(({ number }) => number)
      .sort((a, b) => a - b)
  const collected = () => {
    const batch: RowChange[] = []
    sessions.collect(batch)
    return batch
  }
  return { sessions, session, kept, collected }
}

// Without this: a client repeats a call whose answer was lost, and the call is applied a second time.
test.each([
  // Fewer replies than numbers, and more replies than numbers, are removed in two ways.
  [[2, 5], 5, [5]],
  [[2, 5], 6, []],
  [[1, 2, 3, 4, 5, 6, 7], 4, [4, 5, 6, 7]],
  [[1, 2, 3], 4, []],
])('of the replies %j those from %i on stay', (numbers, done, left) => {
  const { sessions, session, kept } = filled(...numbers)
  sessions.finish(session, done)
  expect([kept(), session.done]).toEqual([left, done])
  // A number that is not larger changes nothing.
  sessions.finish(session, done)
  sessions.finish(session, 1)
  expect([kept(), session.done]).toEqual([left, done])
})

test('the bytes of the replies that wait for the next batch are counted', () => {
  const { sessions, session, collected } = filled(1, 2)
  const [one, whole] = [session.replyBytes / 2, sessions.pendingBytes]
  expect(one).toBeGreaterThanOrEqual(10)
  expect(whole).toBe(2 * (one + 200))
  sessions.finish(session, 2)
  expect([session.replyBytes, sessions.pendingBytes, sessions.rowCount]).toEqual([one, whole / 2, 2])
  expect(collected()).toHaveLength(2)
  expect([sessions.pendingBytes, collected()]).toEqual([0, []])
  // A reply in the store waits for no batch, and is removed by the next one.
  sessions.finish(session, 3)
  expect(sessions.pendingBytes).toBe(0)
  expect(collected().map(({ value }) => value !== undefined)).toEqual([false, true])
  expect(session.replyBytes).toBe(0)
})

test('the end of a session removes its rows, and the sessions of an identity are counted', () => {
  const { sessions, session, collected } = filled(1, 2)
  const other = sessions.open(2, 500, 'ana', 0)
  expect([sessions.size, sessions.countOf('ana'), sessions.countOf('bob'), sessions.openerOf(1)]).toEqual([
    2,
    2,
    0,
    'ana',
  ])
  collected()
  sessions.end(session)
  expect([sessions.size, sessions.countOf('ana'), sessions.pendingBytes]).toEqual([1, 1, 0])
  expect(collected().map(({ value }) => value)).toEqual([undefined, undefined, undefined])
  // A session that was never in the store leaves nothing in it.
  sessions.end(other)
  const third = sessions.open(3, 500, 'bob', 0)
  sessions.keep(third, 0, 7, answer(10))
  sessions.end(third)
  expect([sessions.countOf('ana'), sessions.countOf('bob'), sessions.pendingBytes]).toEqual([0, 0, 0])
})

test('sessions end at their deadlines, in the order of deadlines and then of ids', () => {
  const sessions = new Sessions(NO_STORE)
  const [a, b, c] = [3, 1, 2].map((id) => sessions.open(id, 1_000, 'x', 0)) as [
    ReturnType<Sessions['open']>,
    ReturnType<Sessions['open']>,
    ReturnType<Sessions['open']>,
  ]
  sessions.renew(b, 500)
  expect(sessions.earliest()).toBe(1_000)
  expect(sessions.takeDue(999)).toEqual([])
  const due = [...sessions.takeDue(1_001), ...sessions.takeDue(10_000)]
  expect(due).toEqual([c, a, b])
})

test('a long answer leaves memory when its batch is on the disk, and a short one stays', () => {
  const { sessions, session, collected } = filled()
  sessions.keep(session, 0, 7, answer(10))
  sessions.keep(session, 1, 7, answer(5_000))
  collected()
  const [short, long] = session.replies.all()
  expect([short?.bytes?.length, long?.bytes?.length]).toEqual([10, 5_000])
  sessions.written()
  expect([short?.bytes?.length, long?.bytes]).toEqual([10, undefined])
})
