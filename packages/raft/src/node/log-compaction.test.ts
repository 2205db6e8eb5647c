// Test: which entries of the log are removed: none that the state machine or a snapshot's receiver needs, and of
// the others all but the newest.

import { expect, test } from 'vitest'
import { NO_MEMBERS } from '../core/membership.js'
import type { Entry } from '../core/types.js'
import { Compaction } from './log-compaction.js'

/** A log with entries of ten bytes from 1 to `last`, all of which are durable in the state machine. */
function log(last: number, bounds = { everyEntries: 100, everyBytes: 1_000_000 }) {
  const state = { first: 1, last, durable: last, sending: undefined as number | undefined }
  const dropped: number[] = []
  let reads = 0
  const entry = (index: number) => {
    reads++
    if (index < state.first || index > state.last) throw new Error(`there is no entry ${index}`)
    return { data: new Uint8Array(10) } as unknown as Entry
  }
  const compaction = new Compaction(
    {
      firstIndex: () => state.first,
      lastIndex: () => state.last,
      entry,
      durable: () => state.durable,
      oldestSending: () => state.sending,
      drop: (index) => {
        dropped.push(index)
        state.first = index + 1
      },
    },
    bounds,
  )
  const append = (count: number) => {
    state.last += count
    const entries = Array.from({ length: count }, () => entry(state.last))
    compaction.written({ restartAfter: undefined, entries })
  }
  return { compaction, state, dropped, append, reads: () => reads }
}

test('above its limit of entries the log keeps half of the limit', () => {
  const { compaction, state, dropped } = log(100)
  compaction.ifDue()
  expect(dropped).toEqual([])
  state.last = state.durable = 101
  compaction.ifDue()
  expect([dropped, state.last - state.first + 1]).toEqual([[51], 50])
  compaction.ifDue()
  expect(dropped).toHaveLength(1)
})

test('above its limit of bytes, too; what it keeps counts for the next time', () => {
  const { compaction, state, dropped, append } = log(0, { everyEntries: 1_000_000, everyBytes: 1_000 })
  append(100)
  state.durable = 100
  compaction.ifDue()
  expect(dropped).toEqual([])
  append(1)
  state.durable = 101
  compaction.ifDue()
  expect([dropped, state.last - state.first + 1]).toEqual([[51], 50])
  append(50)
  state.durable = 151
  compaction.ifDue()
  expect(dropped).toHaveLength(1)
  append(1)
  state.durable = 152
  compaction.ifDue()
  expect(dropped).toEqual([51, 102])
})

test('S15, S9: what is not durable, or behind a snapshot that is being sent, stays', () => {
  const { compaction, state, dropped } = log(100)
  state.durable = 30
  compaction.run(0, 0)
  expect(dropped).toEqual([30])
  state.durable = 100
  state.sending = 40
  compaction.run(0, 0)
  expect(dropped).toEqual([30, 40])
  // Nothing is left that may go.
  compaction.run(0, 0)
  expect(dropped).toEqual([30, 40])
  state.sending = undefined
  compaction.run(5, 1_000)
  compaction.run(1_000, 25)
  expect(dropped).toEqual([30, 40, 95, 97])
  compaction.run(0, 0)
  expect(dropped.at(-1)).toBe(100)
})

test('S15, L23: entries that only the disk still has are removed from it once they are durable in the state', () => {
  const { compaction, state, dropped } = log(100)
  // The core has removed the entries up to 90 from memory, because all members have them.
  state.first = 91
  state.durable = 80
  compaction.run(5, 1_000_000)
  expect(dropped).toEqual([80])
  state.first = 91
  state.durable = 100
  compaction.run(5, 1_000_000)
  expect(dropped).toEqual([80, 95])
})

test('L23: the limit of entries counts those that only the disk still has', () => {
  const { compaction, state, dropped } = log(100)
  state.first = 100
  compaction.ifDue()
  expect(dropped).toEqual([])
  state.last = state.durable = 101
  compaction.ifDue()
  expect(dropped).toEqual([99])
})

test('after a snapshot has replaced the log, only the entries after it count', () => {
  const { compaction, state, dropped } = log(100)
  const position = { index: 5_000, term: 1, time: 0 }
  state.first = 5_001
  state.last = state.durable = 5_000
  compaction.written({ restartAfter: { position, membership: NO_MEMBERS }, entries: [] })
  expect(compaction.entries).toBe(0)
  state.last = state.durable = 5_100
  compaction.ifDue()
  expect([compaction.entries, dropped]).toEqual([100, []])
})

test('S15: the log is compacted as soon as the state is durable, also if its limit was passed before', () => {
  const { compaction, state, dropped, append } = log(0, { everyEntries: 1_000_000, everyBytes: 1_000 })
  append(150)
  state.first = 151
  compaction.ifDue()
  expect(dropped).toEqual([])
  state.durable = 150
  compaction.ifDue()
  expect(dropped).toEqual([150])
})

test('while nothing is durable, no entry is looked at', () => {
  const { compaction, state, reads } = log(1_000)
  state.durable = 0
  compaction.ifDue()
  expect(reads()).toBe(0)
  state.durable = 1_000
  compaction.ifDue()
  expect(reads()).toBeGreaterThan(0)
})
