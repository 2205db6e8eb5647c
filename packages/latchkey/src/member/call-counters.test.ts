// Test: requests are counted by kind, answers by code, and one request in sixteen is timed.

import { Histogram } from '@latchkey/base'
import {
  encodeAnswer,
  encodeCommand,
  errorAnswer,
  type LinkRequest,
  OP,
  okAnswer,
  READ,
} from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { errorCodeIn, newCallCounters, SourceCounters, TimedRequests } from './call-counters.js'

const command = (id: number, op: number): LinkRequest =>
  ({ kind: 'command', id, body: encodeCommand([op] as never) }) as unknown as LinkRequest
const read = (id: number, what: number): LinkRequest =>
  ({ kind: 'read', id, read: [what] }) as unknown as LinkRequest
const other = (kind: string) => ({ kind, id: 1 }) as unknown as LinkRequest

test('requests are counted by kind, and a kind that is not known counts as other', () => {
  const counters = new SourceCounters(new ManualClock())
  const timed = new TimedRequests()
  const sent = [
    ...[command(1, OP.put), command(2, OP.put), command(3, OP.tryLock), command(4, 126)],
    ...[read(5, READ.get), read(6, 127), read(7, 127)],
    ...['admin', 'watch', 'watch', 'unwatch'].map(other),
  ]
  for (const request of sent) counters.came(request, timed)
  expect(Object.fromEntries(counters.requests())).toEqual({
    put: 2,
    tryLock: 1,
    other: 3,
    get: 1,
    admin: 1,
    watch: 2,
  })
  expect(Object.fromEntries(new SourceCounters(new ManualClock()).requests())).toEqual({ admin: 0, watch: 0 })
})

test('answers are counted by code, whether they are encoded or not', () => {
  const counters = new SourceCounters(new ManualClock())
  const timed = new TimedRequests()
  const answers = [
    okAnswer(1),
    encodeAnswer(okAnswer(1)),
    errorAnswer('ERR_BUSY'),
    encodeAnswer(errorAnswer('ERR_BUSY')),
    errorAnswer('ERR_NO_LEADER'),
  ]
  for (const answer of answers) counters.answered({ kind: 'answer', id: 1, answer } as never, timed)
  expect(Object.fromEntries(counters.answers())).toEqual({ ok: 2, ERR_BUSY: 2, ERR_NO_LEADER: 1 })
  expect(answers.map(errorCodeIn)).toEqual([undefined, undefined, 'ERR_BUSY', 'ERR_BUSY', 'ERR_NO_LEADER'])
})

test('of sixteen requests the first is timed until its answer, in seconds', () => {
  const clock = new ManualClock()
  const counters = new SourceCounters(clock)
  const timed = new TimedRequests()
  for (let id = 1; id <= 16; id++) counters.came(command(id, OP.put), timed)
  expect(timed.size).toBe(1)
  for (let id = 17; id <= 32; id++) counters.came(read(id, READ.get), timed)
  expect(timed.size).toBe(2)
  clock.advance(1_500)
  for (const id of [2, 1, 1, 17])
    counters.answered({ kind: 'answer', id, answer: okAnswer(1) } as never, timed)
  expect([timed.size, counters.writes.sum, counters.readTimes.sum]).toEqual([0, 1.5, 1.5])
  expect([counters.writes.cumulative().at(-1), counters.readTimes.cumulative().at(-1)]).toEqual([1, 1])
})

test('at most 256 requests of a connection are timed at the same time, and each source counts apart', () => {
  const timed = new TimedRequests()
  const into = new Histogram()
  for (let id = 0; id < 300; id++) timed.begin(id, 0, into)
  expect(timed.size).toBe(256)
  const { websocket, process, member } = newCallCounters(new ManualClock())
  expect(new Set([websocket, process, member]).size).toBe(3)
})
