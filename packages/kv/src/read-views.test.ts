// Test: a view shows the same state on all pages. Also: the end of a range, limits of pages, and closed
// views.

import { OP, type PageResult, READ } from '@latchkey/protocol'
import { beforeEach, expect, test } from 'vitest'
import { SimulatedRowDisk, SimulatedRowStorage } from './storage/simulated-row-store.js'
import { show } from './testing/results-as-text.js'
import { World, k } from './testing/state-machine-with-own-log.js'

let w: World
beforeEach(async () => {
  w = await World.open({ limits: { views: 2, viewIdleMillis: 1_000 } })
  await w.one([OP.putAll, null, ['a', 'b', 'c', 'd'].map((key) => [k(key), k(key.toUpperCase())] as const)])
})
interface Ask {
  view?: number
  keep?: boolean
  start?: string
  end?: string
  reverse?: boolean
  limit?: number
  part?: 'both' | 'keys' | 'values'
}
const page = async (ask: Ask = {}): Promise<PageResult> => {
  const { view = 0, keep = false, start, end, reverse = false, limit = 1_000, part = 'both' } = ask
  const from = start === undefined ? null : k(start)
  const to = end === undefined ? null : k(end)
  return (await w.machine.read([READ.page, view, keep, from, to, reverse, limit, part])) as PageResult
}
const keys = async (ask: Ask) => (show((await page(ask))[1]) as string[][]).map(([key]) => key).join('')

test('ranges, directions, limits, parts', async () => {
  expect(await keys({})).toBe('abcd')
  expect(await keys({ start: 'b', end: 'd' })).toBe('bc')
  expect(await keys({ start: 'b', reverse: true })).toBe('dcb')
  expect(await keys({ start: 'd', end: 'b' })).toBe('')
  expect(await keys({ start: '' })).toBe('abcd')
  expect(await keys({ end: '' })).toBe('')
  expect(await keys({ limit: 2, reverse: true })).toBe('dc')
  expect(await page({ limit: 0, keep: true })).toEqual([0, [], 1])
  expect(show(await page({ limit: 1, part: 'keys' }))).toEqual([0, [['a', null]], 1])
  expect(show(await page({ limit: 1, part: 'values' }))).toEqual([0, [[null, 'A']], 1])
})

test('R9: all pages show one moment, whatever is written, deleted and flushed between them', async () => {
  const [view, rows, revision] = await page({ keep: true, limit: 2 })
  expect([view === 0, revision]).toEqual([false, 1])
  await w.run([OP.deleteRange, null, k('a'), k('z')], [OP.put, null, k('c2'), k('new')])
  await w.machine.flush()
  const [end, more, revisionOfMore] = await page({ view, keep: true, start: 'b\0' })
  expect([revisionOfMore, (await page({ limit: 1 }))[2]]).toEqual([1, 3])
  expect(show([...rows, ...more])).toEqual([
    ['a', 'A'],
    ['b', 'B'],
    ['c', 'C'],
    ['d', 'D'],
  ])
  expect(end).toBe(0)
})

test('C35: one client may open only a share of the views, so that others can scan; closed and idle views do not count', async () => {
  const world = await World.open({ limits: { views: 4, viewsOfOne: 2, viewIdleMillis: 1_000 } })
  await world.one([OP.putAll, null, ['a', 'b'].map((key) => [k(key), k('v')] as const)])
  const ask = async (by: string, keep = true) => {
    const read = [READ.page, 0, keep, null, null, false, 1, 'both'] as const
    return (await world.machine.read(read, 0, by)) as PageResult
  }
  const [first] = await ask('greedy')
  const together = await Promise.allSettled([ask('greedy'), ask('greedy'), ask('modest')])
  expect(together.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await expect(ask('greedy')).rejects.toMatchObject({
    code: 'ERR_BUSY',
    message: expect.stringContaining('these credentials'),
  })
  world.machine.closeViews([first])
  await ask('greedy')
  await expect(ask('greedy', false)).rejects.toMatchObject({ code: 'ERR_BUSY' })
  await ask('modest', false)
  world.clock.advance(2_500)
  await ask('greedy')
  await ask('greedy')
})

test('a view shows what was in the overlay when it was opened', async () => {
  await w.one([OP.put, null, k('overlay'), k('1')])
  expect(await keys({ start: 'o' })).toBe('overlay')
})

test('too many views: ERR_BUSY; closing one makes room for another', async () => {
  const [first] = await page({ keep: true, limit: 1 })
  await page({ keep: true, limit: 1 })
  await expect(page({})).rejects.toMatchObject({ code: 'ERR_BUSY' })
  w.machine.read([READ.closeView, first])
  expect(await keys({})).toBe('abcd')
})

test('a view whose read has failed is closed, and makes room for another', async () => {
  const disk = new SimulatedRowDisk()
  w = await World.open({ limits: { views: 2 }, storage: new SimulatedRowStorage(disk) })
  await w.one([OP.put, null, k('a'), k('1')])
  await w.one([OP.put, null, k('b'), k('2')])
  await w.restart()
  disk.flip(Buffer.from('db'), 10)
  for (let i = 0; i < 4; i++) {
    const [view] = await page({ keep: true, limit: 1 })
    await expect(page({ view, keep: true, start: 'b' })).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
  }
})

test('a read of a closed view is an error', async () => {
  const [view] = await page({ keep: true, limit: 1 })
  w.machine.closeViews([view])
  await expect(page({ view })).rejects.toMatchObject({ code: 'ERR_COMPACTED' })
  await expect(page({ view: 77 })).rejects.toMatchObject({ code: 'ERR_COMPACTED' })
})

test('a view that is not used is closed; one that is used stays open', async () => {
  const [idle] = await page({ keep: true, limit: 1 })
  const [used] = await page({ keep: true, limit: 1 })
  w.clock.advance(600)
  await page({ view: used, keep: true, limit: 1 })
  w.clock.advance(600)
  await expect(page({ view: idle })).rejects.toMatchObject({ code: 'ERR_COMPACTED' })
  await page({ view: used, keep: true, limit: 1 })
  w.clock.advance(2_100)
  w.clock.advance(1_100)
  await expect(page({ view: used })).rejects.toMatchObject({ code: 'ERR_COMPACTED' })
})

test('a page is no larger than its caps', async () => {
  for (let i = 0; i < 5; i++) await w.one([OP.put, null, k(`big${i}`), new Uint8Array(600_000)])
  const [view, rows] = await page({ start: 'big', keep: true })
  expect(view).not.toBe(0)
  expect(rows.length).toBeLessThanOrEqual(3)
})

test('a malformed read is refused', async () => {
  expect(() => w.machine.read([READ.get, k('')])).toThrow(expect.objectContaining({ code: 'ERR_PROTOCOL' }))
  expect(() => w.machine.read([99 as typeof READ.revision])).toThrow(
    expect.objectContaining({ code: 'ERR_PROTOCOL' }),
  )
})
