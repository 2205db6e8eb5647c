// Test: a log without faults returns all appended entries in order, with as few syncs as possible.

import { expect, test } from 'vitest'
import { type DiskOp, MemoryDisk } from '../memory/index.js'
import {
  after,
  appended,
  batch,
  EMPTY_MODEL,
  entry,
  members,
  membersEntry,
  modelOf,
  openWal,
} from './testing/wal-fixture.js'

test('a fresh folder is an empty log, with the identity that was drawn for it', async () => {
  const { wal, recovered } = await openWal(new MemoryDisk())
  expect(modelOf(recovered)).toEqual(EMPTY_MODEL)
  expect(recovered.fresh).toBe(true)
  expect(recovered.identity).toEqual({ clusterId: '', memberId: 'a', incarnation: 'first life' })
  await wal.close()
})

test('what is appended is there after a reopening; hard state, entries and truncation as one', async () => {
  const disk = new MemoryDisk()
  const batches = [
    batch({ hardState: { term: 1, vote: 'a' } }),
    batch({ entries: [entry(1, 1), entry(2, 1), membersEntry(3, 1, members('a', 'b'))] }),
    batch({ truncateFrom: 2, entries: [entry(2, 2), entry(3, 2)], hardState: { term: 2, vote: undefined } }),
    batch({ entries: [entry(4, 2, ''), entry(5, 2, 'é'.repeat(400))] }),
  ]
  const { wal } = await openWal(disk)
  let model = EMPTY_MODEL
  for (const one of batches) {
    await appended(wal, one)
    model = after(model, one)
  }
  await wal.close()
  const again = await openWal(disk, { incarnation: 'second life' })
  expect(modelOf(again.recovered)).toEqual(model)
  expect(again.recovered.identity.incarnation).toBe('first life')
  expect(again.recovered.fresh).toBe(false)
})

// The data of large entries is written from where it stands, between the bytes that are encoded.
test('large entries come back, among small ones, in one record and in many records of one write', async () => {
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk, { segmentBytes: 1e6, growBytes: 1e5 })
  const large = (index: number, bytes: number) => entry(index, 1, String(index % 10).repeat(bytes))
  const batches = [
    batch({ hardState: { term: 1, vote: 'a' }, entries: [entry(1, 1), large(2, 70_000), entry(3, 1)] }),
    batch({ entries: [large(4, 300_000), large(5, 65_536), large(6, 65_535)] }),
    batch({ entries: [entry(7, 1)] }),
    batch({ truncateFrom: 6, entries: [large(6, 400_000)], hardState: { term: 2, vote: 'b' } }),
    batch({ entries: [entry(7, 2), large(8, 900_000)] }),
    batch({ entries: [entry(9, 2)] }),
  ]
  await Promise.all(batches.map((one) => appended(wal, one)))
  await wal.close()
  const { recovered } = await openWal(disk)
  expect(modelOf(recovered)).toEqual(batches.reduce(after, EMPTY_MODEL))
})

test('batches that come while a write is under way share the next one, and its sync', async () => {
  const ops: DiskOp[] = []
  const disk = new MemoryDisk({
    schedule: (op, run) => {
      ops.push(op)
      queueMicrotask(run)
    },
  })
  const { wal } = await openWal(disk, { segmentBytes: 1e6, growBytes: 1e5 })
  ops.length = 0
  const order: number[] = []
  const all = Array.from({ length: 100 }, (_, i) =>
    appended(wal, { entries: [entry(i + 1, 1)] }).then(() => order.push(i)),
  )
  await Promise.all(all)
  expect(order).toEqual([...order].sort((a, b) => a - b))
  expect(ops.filter(({ kind, path }) => kind === 'sync' && path.includes('log-')).length).toBe(2)
})

test('done never comes before append has returned, and what it appends is written after', async () => {
  const { wal } = await openWal(new MemoryDisk())
  const said: string[] = []
  await new Promise<void>((finished) => {
    wal.append(batch({ entries: [entry(1, 1)] }), () => {
      said.push('first')
      wal.append(batch({ entries: [entry(2, 1)] }), () => {
        said.push('second')
        finished()
      })
      said.push('appended inside')
    })
    said.push('appended')
  })
  expect(said).toEqual(['appended', 'first', 'appended inside', 'second'])
})

test('a batch that cannot follow the log is refused at once: a gap, a step back, a void below the start', async () => {
  const { wal } = await openWal(new MemoryDisk())
  await appended(wal, { entries: [entry(1, 1), entry(2, 1)] })
  const bad = [
    { entries: [entry(4, 1)] },
    { entries: [entry(2, 1)] },
    { entries: [entry(3, 1), entry(5, 1)] },
    { truncateFrom: 0 },
    { truncateFrom: 4 },
    { truncateFrom: 2, entries: [entry(3, 1)] },
  ]
  for (const one of bad) expect(() => wal.append(batch(one), () => {})).toThrow('what cannot follow')
  await appended(wal, { entries: [entry(3, 1)] })
})

test('the cluster id, once set, is there after a reopening, also when its segment is gone', async () => {
  const disk = new MemoryDisk()
  const { wal } = await openWal(disk)
  await new Promise<void>((done) => wal.setCluster('cluster 1', () => done()))
  for (let i = 1; i <= 100; i++) await appended(wal, { entries: [entry(i, 1)] })
  wal.compact(100)
  await wal.close()
  const { recovered } = await openWal(disk)
  expect(recovered.identity).toEqual({ clusterId: 'cluster 1', memberId: 'a', incarnation: 'first life' })
  expect(disk.paths()).not.toContain('/data/wal/log-0000000001.wal')
})

test('after close an append fails with that reason, and the files are closed', async () => {
  const { wal } = await openWal(new MemoryDisk())
  const last = appended(wal, { entries: [entry(1, 1)] })
  await wal.close()
  await last
  await expect(appended(wal, { entries: [entry(2, 1)] })).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  await wal.close()
})
