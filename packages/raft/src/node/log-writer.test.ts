// Test: how far the own log is durable, whatever order syncs and truncations come in.

import { expect, test } from 'vitest'
import type { Entry, PersistBatch } from '../core/types.js'
import { LogWriter } from './log-writer.js'

const entry = (index: number): Entry => ({ index, term: 1, time: 0, kind: 'empty', data: new Uint8Array(0) })
const batch = (id: number, rest: Partial<PersistBatch>): PersistBatch => ({
  id,
  hardState: undefined,
  truncateFrom: undefined,
  entries: [],
  restartAfter: undefined,
  ...rest,
})

function world() {
  const syncs: ((error?: Error) => void)[] = []
  const told: string[] = []
  const log = {
    append: (_: PersistBatch, done: () => void) => syncs.push(done),
    compact() {},
    close: async () => {},
  }
  const writer = new LogWriter(
    {
      log,
      durable: (id, last) => told.push(`batch ${id} durable to ${last}`),
      truncated: (from) => told.push(`void from ${from}`),
      failed: (error) => told.push(error.message),
    },
    0,
  )
  return { writer, told, sync: (error?: Error) => syncs.shift()?.(error) }
}

test('L5: a sync that returns behind a truncation does not make durable what was replaced', () => {
  const { writer, told, sync } = world()
  writer.write(batch(1, { entries: [entry(1), entry(2), entry(3)] }))
  writer.write(batch(2, { truncateFrom: 2, entries: [entry(2)] }))
  sync()
  sync()
  expect(told).toEqual(['void from 2', 'batch 1 durable to 1', 'batch 2 durable to 2'])
  expect(writer.idle).toBe(true)
})

test('a hard state alone leaves the durable end where it was', () => {
  const { writer, told, sync } = world()
  writer.write(batch(1, { entries: [entry(1)] }))
  writer.write(batch(2, { hardState: { term: 2, vote: 'a' } }))
  sync()
  sync()
  expect(told.at(-1)).toBe('batch 2 durable to 1')
})

test('a log that restarts behind a snapshot is durable to there', () => {
  const { writer, told, sync } = world()
  const membership = { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} }
  writer.write(batch(1, { restartAfter: { position: { index: 50, term: 3, time: 9 }, membership } }))
  sync()
  expect(told).toEqual(['batch 1 durable to 50'])
})

test('D4: a failed sync is told, and nothing is called durable', () => {
  const { writer, told, sync } = world()
  writer.write(batch(1, { entries: [entry(1)] }))
  sync(new Error('EIO'))
  expect(told).toEqual(['EIO'])
})
