// Test: the durable end of the log, and when messages that promise durable entries are sent.

import { expect, test } from 'vitest'
import { Disk } from './durable-before-send.js'
import { Log } from './log-in-memory.js'
import type { Entry, Message } from './types.js'

const hard = { term: 2, vote: 'b' }
const entry = (index: number, term: number): Entry => ({
  index,
  term,
  time: 0,
  kind: 'commands',
  data: new Uint8Array(0),
})

function world() {
  const log = new Log({ index: 0, term: 0, time: 0 }, [])
  const disk = new Disk(0)
  const append = (...entries: Entry[]) => {
    for (const one of entries) {
      if (one.index <= log.lastIndex) {
        log.truncate(one.index)
        disk.noteTruncate(one.index)
      }
      log.append(one)
      disk.noteAppend(one.index)
    }
    return disk.flush(log, hard)
  }
  return { log, disk, append }
}

const vote = (term: number): Message => ({
  type: 'voteReply',
  group: 1,
  from: 'a',
  to: 'b',
  term,
  granted: true,
})

test('hard state, truncation and entries of one call are one batch; ids grow by one', () => {
  const { log, disk, append } = world()
  append(entry(1, 1), entry(2, 1))
  disk.noteHardState()
  const batch = append(entry(2, 2), entry(3, 2))
  expect(batch).toMatchObject({
    id: 2,
    hardState: hard,
    truncateFrom: 2,
    entries: [{ index: 2 }, { index: 3 }],
  })
  expect(disk.flush(log, hard)).toBeUndefined()
  expect(disk.lastBatch).toBe(2)
})

test('L5: a write under way during a truncation makes nothing durable from there on, not even an equal new entry', () => {
  const { disk, append } = world()
  append(entry(1, 1), entry(2, 1))
  append(entry(2, 2))
  append(entry(2, 3), entry(3, 3))
  disk.persisted(1)
  expect(disk.durable).toBe(1)
  disk.persisted(2)
  expect(disk.durable).toBe(1)
  disk.persisted(3)
  expect(disk.durable).toBe(3)
})

test('L7: a completion completes all batches before it, and an older one changes nothing', () => {
  const { disk, append } = world()
  append(entry(1, 1))
  append(entry(2, 1))
  expect(disk.persisted(2)).toBe(true)
  expect(disk.durable).toBe(2)
  expect(disk.persisted(1)).toBe(false)
  expect(() => disk.persisted(9)).toThrow('never given out')
})

test('E1, E4: a promise waits for its own batch', () => {
  const { log, disk, append } = world()
  append(entry(1, 1))
  disk.noteHardState()
  expect(disk.hardStateDurable).toBe(false)
  disk.promiseHardState(vote(2))
  disk.flush(log, hard)
  append(entry(2, 1))
  disk.persisted(1)
  expect(disk.kept(2)).toEqual([])
  disk.persisted(2)
  expect(disk.hardStateDurable).toBe(true)
  expect(disk.kept(2)).toEqual([vote(2)])
  expect(disk.promises).toBe(0)
})

test('L5: a promise of an older term is dropped', () => {
  const { log, disk } = world()
  disk.noteHardState()
  disk.promiseHardState(vote(1))
  disk.flush(log, hard)
  disk.persisted(1)
  expect(disk.kept(2)).toEqual([])
  expect(disk.promises).toBe(0)
})

test('S15, S3: after a restart of the log no write that was under way counts', () => {
  const { log, disk, append } = world()
  append(...Array.from({ length: 12 }, (_, i) => entry(i + 1, 1)))
  const position = { index: 9, term: 2, time: 0 }
  const membership = { voters: ['a'], outgoing: [], learners: [], learnersNext: [], peers: {} }
  log.restart(position)
  disk.noteRestart(position, membership)
  disk.promiseAll(vote(2))
  expect(disk.flush(log, hard)).toMatchObject({ id: 2, restartAfter: { position }, entries: [] })
  disk.persisted(1)
  expect([disk.durable, disk.kept(2).length]).toEqual([9, 0])
  disk.persisted(2)
  expect([disk.durable, disk.kept(2).length]).toEqual([9, 1])
})
