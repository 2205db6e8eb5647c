// Test: when changes are written to the disk, one batch at a time, and what waits for them, on a manual clock and a
// disk whose writes end when the test says so.

import { Histogram } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { Flusher } from './flusher.js'
import type { KvLimits } from './kv-store-types.js'
import type { State } from './state/store-state.js'

const LIMITS = { flushMillis: 200, flushBytes: 100, flushEventBytes: 400, overlayBytes: 600 } as KvLimits

function disk() {
  const clock = new ManualClock()
  const writes: { end: () => void; fail: (error: Error) => void }[] = []
  let [index, collected, written] = [0, 0, 0]
  const state = {
    pendingBytes: 0,
    pendingEventBytes: 0,
    get meta() {
      return { position: { index, term: 1, time: 0 } }
    },
    collect: () => {
      collected++
      state.pendingBytes = state.pendingEventBytes = 0
    },
    written: () => written++,
    store: { write: () => new Promise<void>((end, fail) => void writes.push({ end: () => end(), fail })) },
  }
  const failures: LatchkeyError[] = []
  const times = new Histogram()
  const flusher = new Flusher(clock, state as unknown as State, LIMITS, times, (error) =>
    failures.push(error),
  )
  /** Applies one entry with changes of these bytes. */
  const apply = (bytes: number, eventBytes = 0) => {
    index++
    state.pendingBytes += bytes
    state.pendingEventBytes += eventBytes
    flusher.applied()
  }
  const end = async () => {
    writes.at(-1)?.end()
    await settled()
  }
  return { clock, writes, flusher, state, failures, times, apply, end, counts: () => [collected, written] }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))
const stopped = new LatchkeyError('ERR_CLOSED')

test('a batch is written 200 ms after the first change, or at once when it is large', async () => {
  const { clock, writes, flusher, apply, end, times, counts } = disk()
  apply(99, 399)
  clock.advance(100)
  apply(0)
  clock.advance(99)
  expect(writes).toHaveLength(0)
  clock.advance(1)
  expect([writes.length, flusher.durable.index]).toEqual([1, 0])
  clock.advance(500)
  await end()
  expect([flusher.durable.index, clock.armed, counts(), times.sum]).toEqual([2, 0, [1, 1], 0.5])
  apply(100)
  expect(writes).toHaveLength(2)
  await end()
  apply(0, 400)
  expect([writes.length, clock.armed]).toEqual([3, 0])
})

test('one batch at a time: what was applied meanwhile comes in the next one', async () => {
  const { clock, writes, flusher, apply, end } = disk()
  apply(100)
  apply(100)
  expect(writes).toHaveLength(1)
  await end()
  expect([writes.length, flusher.durable.index]).toEqual([2, 1])
  apply(1)
  await end()
  // Few bytes wait for the timer.
  expect([writes.length, flusher.durable.index, clock.armed]).toEqual([2, 2, 1])
  clock.advance(200)
  await end()
  expect([writes.length, flusher.durable.index, clock.armed]).toEqual([3, 3, 0])
})

test('flush() resolves when the changes of its moment are on the disk', async () => {
  const { writes, flusher, apply, end } = disk()
  await flusher.flush()
  apply(1)
  const done: number[] = []
  void flusher.flush().then(() => done.push(1))
  expect(writes).toHaveLength(1)
  apply(1)
  void flusher.flush().then(() => done.push(2))
  await end()
  expect([done, writes.length]).toEqual([[1], 2])
  await end()
  expect(done).toEqual([1, 2])
})

test('while an entry is half applied nothing is written', async () => {
  const { clock, writes, flusher, apply, end } = disk()
  flusher.hold()
  apply(100)
  clock.advance(1_000)
  expect(writes).toHaveLength(0)
  flusher.release()
  expect(writes).toHaveLength(1)
  await end()
  flusher.hold()
  flusher.release()
  expect([writes.length, clock.armed]).toEqual([1, 0])
})

test('the overlay is too full above its limit, events included', () => {
  const { flusher, state } = disk()
  Object.assign(state, { pendingBytes: 200, pendingEventBytes: 400 })
  expect(flusher.overfull).toBe(false)
  state.pendingEventBytes = 401
  expect(flusher.overfull).toBe(true)
})

test('a failed write is told once, and is not repeated', async () => {
  const { writes, failures, flusher, apply } = disk()
  apply(100)
  const cause = new Error('no space')
  writes[0]?.fail(cause)
  await settled()
  expect(failures).toMatchObject([{ code: 'ERR_STORAGE_FAILED', message: /no space/, cause }])
  expect([writes.length, flusher.durable.index]).toEqual([1, 0])
  apply(100)
  const own = new LatchkeyError('ERR_CORRUPT')
  writes[1]?.fail(own)
  await settled()
  expect(failures[1]).toBe(own)
})

test('stop() ends all calls of flush, and waits for the write that is under way', async () => {
  const { clock, writes, flusher, apply, end, failures, counts } = disk()
  apply(1)
  expect(clock.armed).toBe(1)
  const flushed = expect(flusher.flush()).rejects.toBe(stopped)
  let isOver = false
  const over = flusher.stop(stopped).then(() => (isOver = true))
  await flushed
  await settled()
  expect([isOver, clock.armed]).toEqual([false, 0])
  await end()
  await over
  // The batch counts no longer, and nothing is written any more.
  expect([counts(), flusher.durable.index, failures]).toEqual([[1, 0], 0, []])
  apply(500)
  clock.advance(1_000)
  expect(writes).toHaveLength(1)
  await expect(flusher.flush()).rejects.toBe(stopped)
  await flusher.stop(new LatchkeyError('ERR_BUSY'))
  await expect(flusher.flush()).rejects.toBe(stopped)

  const failing = disk()
  failing.apply(100)
  const ended = failing.flusher.stop(stopped)
  failing.writes[0]?.fail(new Error('late'))
  await ended
  expect(failing.failures).toEqual([])
})
