// Test: the durable mark is never ahead of the log, a crash never damages both slots, and the mark is not far
// behind when the disk is idle.

import { seededRandom } from '@latchkey/base'
import { expect, test } from 'vitest'
import { type DiskOp, ManualClock, MemoryDisk } from '../memory/index.js'
import { MARK_SLOT_AT } from './disk-format.js'
import { readMark } from './durable-mark-slot.js'
import { appended, entry, openWal } from './testing/wal-fixture.js'

const MARK = '/data/wal/mark'
const turn = () => new Promise((done) => setImmediate(done))

function markOn(bytes: Uint8Array) {
  const read = readMark(bytes)
  if (read.type !== 'mark') throw new Error(`the mark is ${read.type}`)
  return read.mark
}

test('MK1: at every moment the mark is at most what a power loss would leave of the log', async () => {
  let reach = 0
  const disk: MemoryDisk = new MemoryDisk({
    schedule: (_op: DiskOp, run) =>
      queueMicrotask(() => {
        run()
        if (!disk.paths().includes(MARK)) return
        const image = disk.image()
        const durable = [...image].filter(([path]) => path.includes('log-'))
        const last = durable.at(-1)?.[1] ?? new Uint8Array(0)
        reach = Math.max(reach, markOn(disk.bytes(MARK)).reach)
        // There is only one segment, so an offset of the log is an offset of the file.
        expect(last.length).toBeGreaterThanOrEqual(markOn(disk.bytes(MARK)).reach)
      }),
  })
  const { wal } = await openWal(disk, { segmentBytes: 1e6, growBytes: 1 })
  for (let i = 1; i <= 30; i++) await appended(wal, { entries: [entry(i, 1)] })
  await wal.close()
  expect(reach).toBe(markOn(disk.bytes(MARK)).reach)
})

test('MK2: between two syncs of the mark only one slot is written', async () => {
  const since = new Set<number>()
  const disk: MemoryDisk = new MemoryDisk({
    schedule: ({ kind, path }, run) => {
      const before = path === MARK && kind === 'write' ? disk.bytes(MARK) : undefined
      queueMicrotask(() => {
        run()
        if (path !== MARK) return
        if (kind === 'sync') since.clear()
        if (before === undefined) return
        const now = disk.bytes(MARK)
        for (const at of MARK_SLOT_AT) {
          if (Buffer.compare(before.subarray(at, at + 64), now.subarray(at, at + 64)) !== 0) since.add(at)
        }
        expect(since.size).toBeLessThan(2)
      })
    },
  })
  const { wal } = await openWal(disk)
  for (let i = 1; i <= 60; i++) await appended(wal, { entries: [entry(i, 1, 'x'.repeat(300))] })
  wal.compact(40)
  await wal.close()
  const again = await openWal(disk)
  await again.wal.close()
})

test('MK2 D3: a crash never leaves two bad slots, even when it tears what it can', async () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = seededRandom(seed)
    const disk = new MemoryDisk()
    const { wal } = await openWal(disk)
    for (let i = 1; i <= random.between(1, 20); i++)
      await appended(wal, { entries: [entry(i, 1, 'x'.repeat(200))] })
    disk.crash(random, 'some')
    expect(readMark(disk.bytes(MARK)).type).toBe('mark')
  }
})

test('MK3: 100 ms after the last append both slots say, durably, how far the log reaches', async () => {
  const disk = new MemoryDisk()
  const clock = new ManualClock()
  const { wal } = await openWal(disk, { clock, segmentBytes: 1e6 })
  clock.advance(1000)
  await turn()
  for (let i = 1; i <= 5; i++) {
    await appended(wal, { entries: [entry(i, 1)] })
    clock.advance(60)
    await turn()
  }
  const slots = () => {
    const bytes = disk.image().get(MARK) as Uint8Array
    return MARK_SLOT_AT.map((at) => {
      const alone = new Uint8Array(8192)
      alone.set(bytes.subarray(at, at + 64), at)
      return markOn(alone).reach
    })
  }
  const reach = markOn(disk.bytes(MARK)).reach
  expect(Math.max(...slots())).toBeLessThan(reach)
  clock.advance(100)
  await turn()
  expect(slots()).toEqual([reach, reach])
  expect(clock.armed).toBe(0)
})

test('MK4: a lone append costs the mark one write and one sync of each slot', async () => {
  const kinds: string[] = []
  const disk = new MemoryDisk({
    schedule: ({ kind, path }, run) => {
      if (path === MARK) kinds.push(kind)
      queueMicrotask(run)
    },
  })
  const clock = new ManualClock()
  const { wal } = await openWal(disk, { clock, segmentBytes: 1e6 })
  clock.advance(1000)
  await turn()
  kinds.length = 0
  await appended(wal, { entries: [entry(1, 1)] })
  clock.advance(10)
  await turn()
  expect(kinds).toEqual(['write'])
  clock.advance(100)
  await turn()
  expect(kinds).toEqual(['write', 'sync', 'write', 'sync'])
  await wal.close()
})

test('MK3: after a close both slots state how far the log reaches', async () => {
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk)
  await appended(wal, { entries: [entry(1, 1)] })
  await wal.close()
  expect(disk.image().get(MARK)).toEqual(disk.bytes(MARK))
  for (const at of MARK_SLOT_AT) {
    const bytes = disk.bytes(MARK)
    bytes.fill(0, at, at + 64)
    expect(markOn(bytes).reach).toBe(markOn(disk.bytes(MARK)).reach)
  }
})
