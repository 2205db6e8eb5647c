// Test: compaction removes whole segments and never a needed one, and the remaining log states where it
// starts.

import { beforeEach, expect, test } from 'vitest'
import { MemoryDisk } from '../memory/index.js'
import { Segments } from './removable-segments.js'
import { appended, batch, entry, members, membersEntry, modelOf, openWal } from './testing/wal-fixture.js'
import type { Wal } from './wal.js'

let disk: MemoryDisk
let wal: Wal
const segmentCount = () => disk.paths().filter((path) => path.endsWith('.wal')).length
const big = (index: number, term = 1) => entry(index, term, 'x'.repeat(900))

beforeEach(async () => {
  disk = new MemoryDisk()
  wal = (await openWal(disk)).wal
})

async function reopened() {
  await wal.close()
  const { wal: again, recovered } = await openWal(disk)
  wal = again
  return recovered
}

test('S15: nothing is removed without a call, and nothing after the index', async () => {
  for (let i = 1; i <= 30; i++) await appended(wal, { entries: [big(i)] })
  const before = segmentCount()
  expect((await reopened()).entries.length).toBe(30)
  wal.compact(17)
  const recovered = await reopened()
  expect(segmentCount()).toBeLessThan(before)
  expect(recovered.start.position.index).toBeLessThanOrEqual(17)
  expect(recovered.start.position.index).toBeGreaterThan(10)
  expect(recovered.entries.at(-1)?.index).toBe(30)
  const { index, time } = recovered.start.position
  expect(time).toBe(index * 10)
})

test('the members as of the start are known when their entry is gone', async () => {
  await appended(wal, { entries: [membersEntry(1, 1, members('a'))] })
  for (let i = 2; i <= 10; i++) await appended(wal, { entries: [big(i)] })
  await appended(wal, { entries: [membersEntry(11, 1, members('a', 'b'))] })
  for (let i = 12; i <= 20; i++) await appended(wal, { entries: [big(i)] })
  wal.compact(10)
  expect((await reopened()).start.membership.voters).toEqual(['a'])
  wal.compact(20)
  expect((await reopened()).start.membership.voters).toEqual(['a', 'b'])
})

test('a membership that a conflict took back is not the one of the start', async () => {
  await appended(wal, { entries: [membersEntry(1, 1, members('a', 'b', 'c')), big(2)] })
  await appended(wal, { entries: [membersEntry(3, 1, members('a'))] })
  await appended(wal, { truncateFrom: 3, entries: [big(3, 2), big(4, 2), big(5, 2)] })
  for (let i = 6; i <= 12; i++) await appended(wal, { entries: [big(i, 2)] })
  wal.compact(12)
  const recovered = await reopened()
  expect(recovered.start.position.index).toBeGreaterThan(5)
  expect(recovered.start.membership.voters).toEqual(['a', 'b', 'c'])
})

test('a log does not begin with a head whose index was voided; it begins with the next one', async () => {
  for (let i = 1; i <= 9; i++) await appended(wal, { entries: [big(i)] })
  await appended(wal, { truncateFrom: 2, entries: [big(2, 2)] })
  wal.compact(2)
  expect(modelOf(await reopened()).entries.map((one) => one.split('@')[0])).toEqual(['1/1', '2/2'])
  for (let i = 3; i <= 20; i++) await appended(wal, { entries: [big(i, 2)] })
  wal.compact(20)
  const recovered = await reopened()
  expect(recovered.start.position.index).toBeGreaterThan(10)
  expect(segmentCount()).toBeLessThan(4)
})

test('after a restart the old segments go with the next compaction, and the vote stays', async () => {
  await appended(wal, { hardState: { term: 7, vote: 'b' } })
  for (let i = 1; i <= 20; i++) await appended(wal, { entries: [big(i)] })
  const position = { index: 500, term: 6, time: 12.5 }
  await new Promise<void>((done) => wal.restart(position, members('x', 'y'), () => done()))
  let recovered = await reopened()
  expect(recovered).toMatchObject({ hardState: { term: 7, vote: 'b' }, entries: [], start: { position } })
  for (let i = 501; i <= 520; i++) await appended(wal, { entries: [big(i, 8)] })
  wal.compact(505)
  recovered = await reopened()
  expect(recovered.start.position.index).toBeLessThanOrEqual(505)
  expect(recovered.start.position.index).toBeGreaterThanOrEqual(500)
  expect(recovered.start.membership.voters).toEqual(['x', 'y'])
  expect(recovered.entries.at(-1)?.index).toBe(520)
  expect(disk.paths()).not.toContain('/data/wal/log-0000000001.wal')
})

test('S15: a restart further back does not let the old index remove what the new log needs', async () => {
  for (let i = 1; i <= 30; i++) await appended(wal, { entries: [big(i)] })
  wal.compact(30)
  await appended(wal, {
    restartAfter: { position: { index: 5, term: 1, time: 50 }, membership: members('a') },
  })
  for (let i = 6; i <= 25; i++) await appended(wal, { entries: [big(i, 2)] })
  const recovered = await reopened()
  expect(recovered.start.position.index).toBe(5)
  expect(recovered.entries.length).toBe(20)
})

test("a compaction beyond the log's end keeps the segment in which the log goes on", async () => {
  for (let i = 1; i <= 10; i++) await appended(wal, { entries: [big(i)] })
  wal.compact(1e9)
  const recovered = await reopened()
  expect(recovered.start.position.index + recovered.entries.length).toBe(10)
  await appended(wal, { entries: [big(11)] })
  expect((await reopened()).entries.at(-1)?.index).toBe(11)
})

test('disk use is bounded when the log is compacted as it grows', async () => {
  for (let i = 1; i <= 300; i++) {
    await appended(wal, { entries: [big(i)] })
    if (i % 5 === 0) wal.compact(i - 3)
  }
  expect(segmentCount()).toBeLessThanOrEqual(5)
})

test('segments: the latest whole head at or before the index', () => {
  const segments = new Segments()
  segments.add(1, 0)
  segments.add(2, 10)
  segments.add(3, 20)
  segments.truncateFrom(15)
  segments.add(4, 30)
  expect([0, 9, 10, 25, 29, 30, 99].map((index) => segments.newFirst(index).number)).toEqual([
    1, 1, 2, 2, 2, 4, 4,
  ])
  expect(segments.dropBefore(4)).toEqual([1, 2, 3])
  expect(segments.newFirst(0).number).toBe(4)
})

// Without this: the log takes a truncation of entries that are not there any more, and a restart finds a damaged log.
test.each([false, true])('what was removed cannot be truncated; opened again: %s', async (again) => {
  for (let i = 1; i <= 30; i++) await appended(wal, { entries: [big(i)] })
  if (again) await reopened()
  wal.compact(17)
  const truncate = () => wal.append(batch({ truncateFrom: 5, entries: [big(5, 2)] }), () => {})
  expect(truncate).toThrow(/truncate from 5, but the log starts after 1[0-7]/)
  await appended(wal, { truncateFrom: 20, entries: [big(20, 2)] })
  expect((await reopened()).entries.at(-1)?.index).toBe(20)
})
