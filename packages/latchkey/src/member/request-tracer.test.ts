// Test: what a member remembers of traces, and what it logs about them, without an SDK.

import { OpenTelemetry } from '@latchkey/client'
import { CAPS, encodeCommand, errorAnswer, type LinkRequest, OP, okAnswer, READ } from '@latchkey/protocol'
import { silentLogger } from '@latchkey/base'
import { expect, test } from 'vitest'
import { ConnectionTraces } from './traced-requests-of-connection.js'
import { RequestTracer } from './request-tracer.js'

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const body = encodeCommand([OP.put, null, Buffer.from('k'), Buffer.from('v')])
const put = (id: number): LinkRequest => ({
  kind: 'command',
  id,
  session: 1,
  number: id,
  done: 1,
  body,
  trace: TRACE,
})

function scene() {
  const time = { now: 0 }
  const lines: [level: string, message: string, fields: unknown][] = []
  const at = (level: string) => (message: string, fields: unknown) =>
    void lines.push([level, message, fields])
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const tracer = new RequestTracer({
    clock: { now: () => time.now },
    logger,
    openTelemetry: new OpenTelemetry(silentLogger),
    id: 'a',
    cluster: 'latchkey',
  })
  return { time, lines, tracer }
}

const answered = (id: number, answer: ReturnType<typeof okAnswer> = okAnswer(null)) =>
  ({ kind: 'answer', id, time: 0, never: false, answer }) as const

test('the line of a traced request: debug with its ids and its code, a warning from one second on', () => {
  const { time, lines, tracer } = scene()
  const traces = new ConnectionTraces(tracer, () => 'leader')
  expect(traces.begin(put(1))).toEqual(put(1))
  traces.begin({ kind: 'read', id: 2, stale: false, read: [READ.revision], trace: TRACE })
  time.now = 999
  traces.end(answered(1))
  time.now = 1_000
  traces.end(answered(2, errorAnswer('ERR_TIMEOUT')))
  const ids = { trace_id: '0af7651916cd43dd8448eb211c80319c', span_id: 'b7ad6b7169203331' }
  expect(lines).toEqual([
    ['debug', 'a traced request was answered', { ...ids, operation: 'put', millis: 999 }],
    [
      'warn',
      'a traced request took long',
      { ...ids, operation: 'revision', millis: 1_000, code: 'ERR_TIMEOUT' },
    ],
  ])
  expect([traces.size, tracer.open]).toEqual([0, 0])
})

test('a request without a trace is passed on as it is, and has no line', () => {
  const { lines, tracer } = scene()
  const traces = new ConnectionTraces(tracer, () => 'leader')
  const { trace: _, ...untraced } = put(1) as LinkRequest & { trace: string }
  expect(traces.begin(untraced as LinkRequest)).toBe(untraced)
  traces.end(answered(1))
  expect([traces.size, lines]).toEqual([0, []])
})

test('OB3: a client that names thousands of traces is followed in so many only, and all its requests go on', () => {
  const { tracer } = scene()
  const traces = new ConnectionTraces(tracer, () => 'leader')
  for (let id = 1; id <= 5_000; id++) expect(traces.begin(put(id))).toEqual(put(id))
  expect([traces.size, tracer.open]).toEqual([CAPS.tracedRequestsOfOne, CAPS.tracedRequestsOfOne])
  // The same id twice is one request here, whose first trace counts.
  traces.end(answered(1))
  traces.begin(put(2))
  expect(tracer.open).toBe(CAPS.tracedRequestsOfOne - 1)
  traces.close()
  expect([traces.size, tracer.open]).toEqual([0, 0])
})

test('OB3: many connections together are followed in so many only; their ends make room', () => {
  const { tracer } = scene()
  const connections = Array.from({ length: 20 }, () => new ConnectionTraces(tracer, () => 'leader'))
  for (const traces of connections) for (let id = 1; id <= 1_024; id++) traces.begin(put(id))
  expect(tracer.open).toBe(CAPS.tracedRequests)
  expect(tracer.httpCall('GET', TRACE)).toBeUndefined()
  connections[0]?.close()
  expect(tracer.open).toBe(CAPS.tracedRequests - CAPS.tracedRequestsOfOne)
  expect(tracer.httpCall('GET', TRACE)?.traceparent).toBe(TRACE)
})

test('OB3: a stranger causes at most twenty warnings in ten seconds, and the next one tells of the others', () => {
  const { time, lines, tracer } = scene()
  const traces = new ConnectionTraces(tracer, () => 'leader')
  const slow = (id: number) => {
    traces.begin(put(id))
    time.now += 1_000
    traces.end(answered(id))
  }
  for (let id = 1; id <= 100; id++) {
    traces.begin(put(id))
    traces.begin(put(id + 500))
  }
  time.now = 1_000
  for (let id = 1; id <= 100; id++) traces.end(answered(id))
  expect(lines).toHaveLength(20)
  time.now = 12_000
  slow(1_000)
  expect(lines.at(-1)?.[2]).toMatchObject({ times: 81 })
})

test('what is no traceparent of version 00 is no call of HTTP that is followed', () => {
  const { tracer } = scene()
  const wrong = [
    undefined,
    '',
    ['a', TRACE],
    `${TRACE},${TRACE}`,
    'x'.repeat(100_000),
    TRACE.toUpperCase(),
    {},
  ]
  for (const header of wrong) expect(tracer.httpCall('GET', header)).toBeUndefined()
  expect(tracer.open).toBe(0)
})
