// Test: the simulated member's journal: what was told durable is found again, wherever the power went.

import { seededRandom, utf8 } from '@latchkey/base'
import type { Entry, PersistBatch } from '@latchkey/raft/core'
import { expect, test } from 'vitest'
import { SimDisk } from '../world/disk.js'
import { DiskHandle } from '../world/disk-handle.js'
import { EventHeap } from '@latchkey/raft/memory'
import { JOURNAL, EventLog } from './journal.js'
import { readRecords, RecordWriter } from './journal-format.js'
import { DamagedDisk } from './port.js'
import { markedLength, recoverJournal } from './recover.js'

const born = { voters: ['a'], outgoing: [], learners: [], learnersNext: [], peers: {} }
const entry = (index: number, term: number): Entry => ({
  index,
  term,
  time: index * 10,
  kind: 'commands',
  data: utf8(`entry ${index} of ${term}`),
})
const batch = (id: number, rest: Partial<PersistBatch>): PersistBatch => ({
  id,
  hardState: undefined,
  truncateFrom: undefined,
  entries: [],
  restartAfter: undefined,
  ...rest,
})

function setup(seed: number) {
  const heap = new EventHeap()
  let now = 0
  const disk = new SimDisk(heap, () => now, seededRandom(seed), { syncBase: 10, syncTail: 50, longest: 1e9 })
  const run = (events: number) => {
    for (let i = 0; i < events; i++) {
      const next = heap.pop()
      if (next === undefined) return
      now = next.at
      next.run(next.payload as never)
    }
  }
  const durable: number[] = []
  const open = () =>
    new EventLog(new DiskHandle(disk), recoverJournal(new DiskHandle(disk), born), {
      durable: ({ id }) => durable.push(id),
      failed: () => {},
    })
  return { disk, run, durable, open }
}

test('D1 D8: whatever the power loss takes, all that was told durable is there, and nothing that was never written', () => {
  for (let seed = 0; seed < 300; seed++) {
    const { disk, run, durable, open } = setup(seed)
    const random = seededRandom(`script/${seed}`)
    const journal = open()
    // ends[id]: the log's last index after that batch.
    const ends: number[] = [0]
    for (let id = 1; id <= 12; id++) {
      const last = ends[id - 1] as number
      const cut = last > 0 && random.chance(0.3) ? random.between(1, last + 1) : undefined
      const next = cut ?? last + 1
      journal.persist(
        batch(id, { truncateFrom: cut, entries: [entry(next, id)], hardState: { term: id, vote: 'a' } }),
      )
      ends.push(next)
      run(random.between(0, 3))
    }
    disk.powerLoss()
    const last = durable[durable.length - 1] ?? 0
    const found = recoverJournal(new DiskHandle(disk), born)
    expect(found.hard.term).toBeGreaterThanOrEqual(last)
    const possible = ends.slice(last).map((end) => end)
    expect(found.entries.length).toBeGreaterThanOrEqual(Math.min(...possible, ends[last] as number) - 1)
    found.entries.forEach(({ index }, i) => expect(index).toBe(i + 1))
  }
})

test('a rewrite (restart or compaction) is atomic', () => {
  for (let seed = 0; seed < 200; seed++) {
    const { disk, run, durable, open } = setup(seed)
    const journal = open()
    journal.persist(
      batch(1, { entries: [entry(1, 1), entry(2, 1), entry(3, 1)], hardState: { term: 1, vote: 'a' } }),
    )
    run(10)
    expect(durable).toEqual([1])
    journal.compact({ index: 2, term: 1, time: 20 }, born)
    run(seed % 4)
    disk.powerLoss()
    const { base, entries, hard } = recoverJournal(new DiskHandle(disk), born)
    expect([0, 2]).toContain(base.index)
    expect(base.index + entries.length).toBe(3)
    expect(hard).toEqual({ term: 1, vote: 'a' })
  }
})

test('D2: one wrong bit before the mark is refused, never taken for a shorter log', () => {
  const { disk, run, open } = setup(1)
  const journal = open()
  for (let id = 1; id <= 5; id++) {
    journal.persist(batch(id, { entries: [entry(id, 1)] }))
    run(10)
  }
  const length = markedLength(disk)
  expect(length).toBeGreaterThan(100)
  for (let offset = 0; offset < length; offset++) {
    disk.rot(JOURNAL, offset, offset % 8)
    expect(() => recoverJournal(new DiskHandle(disk), born), `byte ${offset}`).toThrow(DamagedDisk)
    disk.rot(JOURNAL, offset, offset % 8)
  }
  expect(recoverJournal(new DiskHandle(disk), born).entries.length).toBe(5)
})

test('records are read back; a tail torn at any byte gives the whole records before it', () => {
  const writer = new RecordWriter(0)
  writer.base(3, { index: 4, term: 1, time: 40 }, born)
  writer.entry(entry(5, 2))
  writer.truncate(5)
  writer.hard({ term: 2, vote: undefined })
  const bytes = writer.take()
  const { records } = readRecords(bytes)
  expect(records.map(({ type }) => type)).toEqual(['base', 'entry', 'truncate', 'hard'])
  expect(records[1]).toEqual({ type: 'entry', entry: entry(5, 2) })
  for (let cut = 0; cut < bytes.length; cut++) {
    const part = readRecords(bytes.subarray(0, cut)).records
    expect(part).toEqual(records.slice(0, part.length))
    expect(part.length).toBeLessThan(4)
  }
})
