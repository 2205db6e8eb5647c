// Test: the reads and the watches of one client connection: what waits for the leader's confirmation, which
// views a connection may use, and the limits of their number.

import { EMPTY, utf8 } from '@latchkey/base'
import { CAPS, LatchkeyError, type LinkReply, READ, type Read } from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { errorCodeIn } from './call-counters.js'
import { ClientReads } from './reads-and-views-of-connection.js'
import { ClientWatches } from './client-watches.js'
import type { Identity } from './identity-and-rights.js'
import { ReadTurns } from './read-answer-bytes-per-turn.js'

const ANA = { name: 'ana', rights: ['read', 'write', 'admin'] } as unknown as Identity
const WRITER = { name: 'bob', rights: ['write'] } as unknown as Identity

type Reply = Extract<LinkReply, { kind: 'answer' }> | Extract<LinkReply, { kind: 'events' | 'watchOver' }>

function connection(identity: Identity = ANA) {
  const clock = new ManualClock()
  const confirmations: ((outcome: object) => void)[] = []
  const reads: unknown[][] = []
  const closed: number[][] = []
  const results: unknown[] = []
  const told: Reply[] = []
  const watches: { sink: Record<string, (...of: unknown[]) => void>; asked: number; isClosed: boolean }[] = []
  const kv = {
    revision: 40,
    expect: () => {},
    closeViews: (views: Set<number>) => {
      closed.push([...views])
      views.clear()
    },
    read: (...of: unknown[]) => {
      reads.push(of)
      const result = results.length > 1 ? results.shift() : results[0]
      if (result instanceof Error) throw result
      return result
    },
    watch: (_range: object, from: number, sink: (typeof watches)[0]['sink']) => {
      if (from < 0) throw new RangeError('too many')
      const watch = { sink, asked: 0, isClosed: false }
      watches.push(watch)
      return {
        more: (events: number) => (watch.asked += events),
        close: () => (watch.isClosed = true),
      }
    },
  }
  const node = { read: (done: (outcome: object) => void) => void confirmations.push(done) }
  const ports = { node, kv, turns: new ReadTurns(clock), identity }
  const tell = (reply: LinkReply) => void told.push(reply as Reply)
  const client = new ClientReads(ports as never, tell)
  const watching = new ClientWatches(ports as never, tell)
  /** The codes of the errors that were told since the last call, or 'ok', or the kind of another reply. */
  const codes = () =>
    told.splice(0).map((one) => ('answer' in one ? (errorCodeIn(one.answer) ?? 'ok') : one.kind))
  return { client, watching, clock, confirmations, reads, closed, results, told, codes, watches }
}

const get: Read = [READ.get, utf8('k')] as unknown as Read
const page = (view: number): Read => [READ.page, view, true, null, null, false, 10, 'both'] as unknown as Read
const settled = () => new Promise((resolve) => setImmediate(resolve))
const OK = 'ok'

test('a read waits for the leader, a stale read does not', () => {
  const { client, confirmations, reads, results, told, codes } = connection()
  results.push('value')
  client.read(1, true, get)
  expect([reads, told]).toMatchObject([[[get, undefined, 'ana']], [{ id: 1, time: 0, never: false }]])
  client.read(2, false, get)
  client.read(3, false, get)
  expect([reads.length, confirmations.length]).toEqual([1, 2])
  confirmations[0]?.({ ok: true, time: 77 })
  expect(reads[1]).toEqual([get, 77, 'ana'])
  expect(told[1]).toMatchObject({ id: 2, time: 77 })
  confirmations[1]?.({ ok: false })
  expect(codes()).toEqual([OK, OK, 'ERR_NO_LEADER'])
})

test('a read without the right, and one that fails, are refused', async () => {
  const writer = connection(WRITER)
  writer.client.read(1, true, get)
  expect([writer.codes(), writer.reads]).toEqual([['ERR_FORBIDDEN'], []])
  const { client, results, codes } = connection()
  results.push(new LatchkeyError('ERR_COMPACTED'), Promise.reject(new LatchkeyError('ERR_COMPACTED')), 'x')
  client.read(1, true, get)
  client.read(2, true, get)
  await settled()
  client.read(3, true, get)
  expect(codes()).toEqual(['ERR_COMPACTED', 'ERR_COMPACTED', OK])
})

test('only 20,000 reads of a connection wait for the leader', () => {
  const { client, confirmations, results, codes } = connection()
  results.push('value')
  for (let id = 0; id < 20_000; id++) client.read(id, false, get)
  expect(codes()).toEqual([])
  client.read(20_000, false, get)
  expect([codes(), confirmations.length]).toEqual([['ERR_BUSY'], 20_000])
  confirmations[0]?.({ ok: true, time: 1 })
  client.read(20_001, false, get)
  expect([codes(), confirmations.length]).toEqual([[OK], 20_001])
})

test('a connection uses only views that it has opened, and closes them at its end', async () => {
  const { client, confirmations, reads, closed, results, codes } = connection()
  results.push([5, [], 40])
  client.read(1, false, page(5))
  expect([codes(), reads.length]).toEqual([['ERR_COMPACTED'], 0])
  client.read(2, false, [READ.closeView, 5] as unknown as Read)
  expect([codes(), reads.length]).toEqual([[OK], 0])
  client.read(3, false, page(0))
  confirmations[0]?.({ ok: true, time: 7 })
  // The leader has confirmed the view once.
  client.read(4, false, page(5))
  expect([codes(), confirmations.length, reads.length]).toEqual([[OK, OK], 1, 2])
  // The last page closes the view.
  results.splice(0, 1, [0, [], 40])
  client.read(5, false, page(5))
  client.read(6, false, page(5))
  expect(codes()).toEqual([OK, 'ERR_COMPACTED'])
  results.splice(0, 1, Promise.resolve([6, [], 40]))
  client.read(7, true, page(0))
  client.close()
  expect(closed).toEqual([[]])
  await settled()
  // A view that was opened meanwhile is closed, too.
  expect(closed).toEqual([[], [6]])
  client.read(8, true, get)
  expect(reads).toHaveLength(4)
})

test('an answer that fits in no message is refused', () => {
  const { client, results, codes } = connection()
  const many = [READ.multiGet, [utf8('k')]] as unknown as Read
  const most = CAPS.maxPayload - CAPS.frameBytes
  results.push(new Uint8Array(most - 5))
  client.read(1, true, many)
  expect(codes()).toEqual([OK])
})

test('the ticket of a client without the right to read has no context', () => {
  const owner = ['id', 9, 8, 7, 1, utf8('secret'), 'HELD', 0]
  const ticket = [READ.ticket, [utf8('k'), 'id', 1]] as unknown as Read
  for (const [identity, shown] of [
    [ANA, utf8('secret')],
    [WRITER, null],
  ] as const) {
    const { client, results, told } = connection(identity)
    results.push(['granted', owner])
    client.read(1, true, ticket)
    const { answer } = told[0] as unknown as { answer: [number, [string, unknown[]]] }
    expect(answer[1][1][5]).toEqual(shown)
  }
})

const watch = (id: number, from = 0, more: object = {}) =>
  ({ kind: 'watch', id, start: EMPTY, end: null, from, ...more }) as never

test('a watch begins when the leader has confirmed, with the events that were asked for meanwhile', () => {
  const { watching, confirmations, watches, told, codes } = connection()
  watching.open(watch(1))
  watching.more(1, 5)
  watching.more(1, 6)
  expect([watches, told]).toEqual([[], []])
  confirmations[0]?.({ ok: true })
  watching.more(1, 7)
  expect([watches[0]?.asked, told]).toEqual([18, [{ kind: 'events', ids: [1], events: [], upTo: 40 }]])
  watches[0]?.sink['events']?.([['event']], 41)
  expect(told[1]).toEqual({ kind: 'events', ids: [1], events: [['event']], upTo: 41 })
  watches[0]?.sink['over']?.(new LatchkeyError('ERR_COMPACTED'))
  expect(codes().at(-1)).toBe('ERR_COMPACTED')
  // A watch from a revision, and one of locks, names no beginning.
  watching.open(watch(2, 3))
  watching.open(watch(3, 0, { of: 'locks' }))
  for (const confirmed of confirmations.slice(1)) confirmed({ ok: true })
  expect([watches.length, told]).toEqual([3, []])
})

test('a watch that was ended before its confirmation does not begin, and neither does one of a closed connection', () => {
  const { watching, confirmations, watches, told } = connection()
  watching.open(watch(1))
  watching.end(1)
  watching.open(watch(2))
  watching.open(watch(3))
  confirmations[1]?.({ ok: true })
  watching.close()
  confirmations[0]?.({ ok: true })
  confirmations[2]?.({ ok: true })
  expect([watches.map(({ isClosed }) => isClosed), told.length]).toEqual([[true], 1])
})

test('a new watch with the same id ends the open one, and errors end a watch', () => {
  const { watching, confirmations, watches, codes } = connection()
  watching.open(watch(1))
  confirmations[0]?.({ ok: true })
  watching.open(watch(1))
  expect(watches[0]?.isClosed).toBe(true)
  confirmations[1]?.({ ok: false })
  watching.open(watch(2, -1))
  confirmations[2]?.({ ok: true })
  expect(codes()).toEqual(['events', 'ERR_NO_LEADER', 'ERR_BUSY'])
  watching.end(1)
  expect(watches).toHaveLength(1)
})

test('only a thousand watches of a connection are open or begin', () => {
  const { watching, confirmations, codes } = connection()
  for (let id = 0; id < 1_000; id++) watching.open(watch(id))
  confirmations[0]?.({ ok: true })
  expect(codes()).toEqual(['events'])
  watching.open(watch(1_000))
  expect(codes()).toEqual(['ERR_BUSY'])
  watching.end(5)
  watching.open(watch(1_000))
  expect([codes(), confirmations.length]).toEqual([[], 1_001])
})
