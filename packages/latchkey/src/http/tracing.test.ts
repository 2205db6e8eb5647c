// Test: the traceparent of an HTTP request (docs/tracing.md).

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { drawTrace, recordSpans, type RecordedSpans } from '../contract/testing/recorded-spans.js'
import { until } from '../contract/testing/small-test-functions.js'
import { type HttpMember, httpMember } from './testing/http-member.js'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const TRACE = `00-${TRACE_ID}-${CALLER}-01`

let recorded: RecordedSpans
let at: HttpMember
beforeAll(async () => {
  recorded = recordSpans()
  at = await httpMember()
  // The session is opened before, because no caller asks for it.
  await at.send('PUT', '/v1/kv/k', 'v')
})
afterEach(() => recorded.clear())
afterAll(async () => {
  await at?.close()
  recorded?.unregister()
})

const ofTrace = () => recorded.spans().filter((span) => span.spanContext().traceId === TRACE_ID)

test('a call goes on in the trace of its caller, down to the member', async () => {
  const { status } = await at.send('PUT', '/v1/kv/k', 'v', { traceparent: TRACE })
  expect(status).toBe(200)
  await until(() => ofTrace().length === 3)
  const door = ofTrace().find(({ name }) => name === 'PUT /v1/kv/{key}')
  if (door === undefined) throw new Error('the span of the call is missing')
  expect(drawTrace(ofTrace(), door)).toEqual([
    'PUT /v1/kv/{key} (server)',
    '  put latchkey (client)',
    '    put latchkey (server at the leader)',
  ])
  expect(door.parentSpanContext).toMatchObject({ spanId: CALLER, isRemote: true })
  expect(door.attributes).toEqual({
    'http.request.method': 'PUT',
    'http.route': '/v1/kv/{key}',
    'http.response.status_code': 200,
    'latchkey.member.id': 'a',
  })
})

test.each([
  'nonsense',
  TRACE.toUpperCase(),
  `${TRACE}, ${TRACE}`,
  TRACE.replace(TRACE_ID, '0'.repeat(32)),
  TRACE.replace('00-', 'ff-'),
  'a'.repeat(8_000),
])('OB3: the traceparent %.60s begins no trace, and the call is answered', async (traceparent) => {
  const { status } = await at.send('PUT', '/v1/kv/k', 'v', { traceparent })
  expect(status).toBe(200)
  expect(ofTrace()).toEqual([])
  expect(recorded.spans().filter(({ name }) => name.startsWith('PUT'))).toEqual([])
})

test('a path that leads nowhere, and a key that is none: one name for all of them', async () => {
  const paths = ['/v1/nothing', '/v1/kv/%ZZ', `/${'x'.repeat(500)}`]
  for (const path of paths) await at.send('PUT', path, 'v', { traceparent: TRACE })
  await until(() => ofTrace().length === paths.length)
  expect(new Set(ofTrace().map(({ name }) => name))).toEqual(new Set(['PUT unknown']))
})
