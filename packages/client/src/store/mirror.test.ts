// Test: a mirror whose members have dropped the history: the old state stays until the new one is complete, and
// the differences are reported.

import { EMPTY, utf8 } from '@latchkey/base'
import { type EventResult, LatchkeyError, READ } from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import type { Engine } from '../engine/engine.js'
import type { WatchSink } from '../engine/watches.js'
import { Mirror } from './mirror.js'

type Value = readonly [key: string, value: string, revision: number]
type Page = { readonly rows: readonly Value[]; readonly revision: number; readonly view?: number }

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Opens a mirror whose pages and events come from the test. */
async function opened(first: Page) {
  const clock = new ManualClock()
  const pages: (Page | Error)[] = [first]
  const watches: { from: number; sink: WatchSink; taken: number; isOver: boolean }[] = []
  const engine = {
    clock,
    pass: () => {},
    deadlineOf: () => () => undefined,
    keepOpen: () => () => {},
    read: async (
      read: unknown[],
      _stale: boolean,
      _options: unknown,
      convert: (...of: unknown[]) => unknown,
    ) => {
      if (read[0] === READ.closeView) return undefined
      const page = pages.shift()
      if (page === undefined || page instanceof Error) throw page ?? new Error('no page is left')
      const rows = page.rows.map(([key, value, revision]) => [utf8(key), utf8(value), revision])
      return convert([page.view ?? 0, rows, page.revision], { answeredBy: undefined })
    },
    watch: (_start: unknown, _end: unknown, from: number, sink: WatchSink) => {
      const watch = { from, sink, taken: 0, isOver: false }
      watches.push(watch)
      return { taken: (events: number) => (watch.taken += events), end: () => (watch.isOver = true) }
    },
  } as unknown as Engine
  const how = { as: 'string', onUndecodable: 'error', prefix: EMPTY } as const
  const mirror = await Mirror.open(engine, { prefix: '' }, {}, how)
  const seen: unknown[] = []
  mirror.on('change', ({ type, key, value, revision }) => seen.push([type, key, value, revision]))
  mirror.on('synced', (synced) => seen.push(synced))
  mirror.on('closed', ({ error }) => seen.push(['closed', error?.code]))
  const state = () => Object.fromEntries([...mirror])
  const watch = () => watches.at(-1) as (typeof watches)[0]
  const tell = async (...events: EventResult[]) => {
    watch().sink.events(events)
    await settled()
  }
  const fail = async (error: LatchkeyError) => {
    watch().sink.over(error)
    await settled()
  }
  return { mirror, clock, pages, watches, watch, seen, state, tell, fail }
}

const FIRST: Page = {
  rows: [
    ['a', '1', 3],
    ['b', '2', 4],
    ['c', '3', 5],
  ],
  revision: 7,
}
const put = (revision: number, key: string, value: string): EventResult => [
  revision,
  0,
  utf8(key),
  utf8(value),
  null,
]
const gone = () => new LatchkeyError('ERR_COMPACTED')

test('C61, C62: events come from the revision after the view, and each is taken', async () => {
  const { mirror, watch, seen, state, tell } = await opened(FIRST)
  expect([watch().from, mirror.revision, mirror.closed, seen]).toEqual([8, 7, false, []])
  const shown: unknown[] = []
  mirror.on('change', () => shown.push(state()))
  await tell(put(8, 'a', 'x'), put(8, 'd', 'y'), [9, 1, utf8('b'), null, null])
  const both = { a: 'x', b: '2', c: '3', d: 'y' }
  expect(shown).toEqual([both, both, { a: 'x', c: '3', d: 'y' }])
  expect(seen).toEqual([
    ['put', 'a', 'x', 8],
    ['put', 'd', 'y', 8],
    ['delete', 'b', undefined, 9],
  ])
  expect([state(), mirror.revision, watch().taken]).toEqual([{ a: 'x', c: '3', d: 'y' }, 9, 3])
})

test('C62: after a gap the old state is shown until the new one is complete, then the differences come', async () => {
  const { mirror, pages, watches, watch, seen, state, tell, fail } = await opened(FIRST)
  // The second page of the new view is lost, so that the mirror begins with a third view.
  pages.push({ rows: [['z', 'never shown', 8]], revision: 8, view: 1 }, gone())
  pages.push({
    rows: [
      ['a', '1', 3],
      ['b', 'new', 9],
      ['d', '4', 10],
    ],
    revision: 10,
  })
  const shown: unknown[] = []
  mirror.on('change', () => shown.push(state()))
  await fail(gone())
  const now = { a: '1', b: 'new', d: '4' }
  expect(seen).toEqual([
    ['delete', 'c', undefined, 10],
    ['put', 'b', 'new', 10],
    ['put', 'd', '4', 10],
    { type: 'synced', revision: 10 },
  ])
  expect(shown).toEqual([now, now, now])
  expect([state(), mirror.revision, watch().from]).toEqual([now, 10, 11])
  expect(watches.map(({ isOver }) => isOver)).toEqual([true, true, false])
  await tell(put(11, 'a', '5'))
  expect([mirror.get('a'), mirror.revision]).toEqual(['5', 11])
})

test('C62: an older state than the one that was shown ends the mirror', async () => {
  const { mirror, pages, seen, state, fail } = await opened(FIRST)
  pages.push({ rows: [], revision: 6 })
  await fail(gone())
  expect(seen).toEqual([['closed', 'ERR_WRONG_CLUSTER']])
  expect([mirror.closed, mirror.error?.code, state()]).toEqual([
    true,
    'ERR_WRONG_CLUSTER',
    { a: '1', b: '2', c: '3' },
  ])
})

test('a member that has too many views is asked again after a pause; another error ends the mirror', async () => {
  const { mirror, clock, pages, seen, fail } = await opened(FIRST)
  pages.push(new LatchkeyError('ERR_BUSY'), { rows: [], revision: 7 })
  await fail(gone())
  clock.advance(99)
  await settled()
  expect(mirror.size).toBe(3)
  clock.advance(1)
  await settled()
  expect([mirror.size, seen.at(-1), clock.armed]).toEqual([0, { type: 'synced', revision: 7 }, 0])
  await fail(new LatchkeyError('ERR_FORBIDDEN'))
  expect([mirror.error?.code, seen.at(-1)]).toEqual(['ERR_FORBIDDEN', ['closed', 'ERR_FORBIDDEN']])
  await fail(new LatchkeyError('ERR_BUSY'))
  expect(seen.filter((one) => Array.isArray(one) && one[0] === 'closed')).toHaveLength(1)
})

test('close() during that pause leaves no timer, and no event comes any more', async () => {
  const { mirror, clock, pages, watch, seen, tell, fail } = await opened(FIRST)
  pages.push(new LatchkeyError('ERR_BUSY'))
  await fail(gone())
  expect(clock.armed).toBe(1)
  await mirror.close()
  await settled()
  expect([clock.armed, watch().isOver, seen]).toEqual([0, true, [['closed', undefined]]])
  await tell(put(8, 'a', 'late'))
  expect([mirror.get('a'), mirror.closed, mirror.error]).toEqual(['1', true, undefined])
})

test('events that came before the watch failed are shown; those before a close of the store are not', async () => {
  const lost = await opened(FIRST)
  lost.pages.push({ rows: [], revision: 9 })
  lost.watch().sink.events([put(8, 'a', 'x')])
  await lost.fail(gone())
  expect(lost.seen[0]).toEqual(['put', 'a', 'x', 8])
  const closed = await opened(FIRST)
  closed.watch().sink.events([put(8, 'a', 'x')])
  await closed.fail(new LatchkeyError('ERR_CLOSED'))
  expect(closed.seen).toEqual([['closed', 'ERR_CLOSED']])
})

test('once() and off() end the calls of a listener', async () => {
  const { mirror, tell } = await opened(FIRST)
  const heard: string[] = []
  const listener = () => heard.push('on')
  mirror.once('change', () => heard.push('once')).on('change', listener)
  await tell(put(8, 'a', 'x'))
  mirror.off('change', listener)
  await tell(put(9, 'a', 'y'))
  expect(heard).toEqual(['once', 'on'])
})
