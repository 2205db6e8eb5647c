// Test: one trace from an HTTP handler through the store, a follower and the leader (docs/tracing.md).

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { silentLogger } from '@latchkey/base'
import { connect, type Store } from '@latchkey/client'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { drawTrace, recordSpans, type RecordedSpans } from './testing/recorded-spans.js'
import { unlessStalled } from './testing/small-test-functions.js'
import { openTrio, type Trio } from './testing/three-embedded-members.js'

const folder = tempFolders()
let recorded: RecordedSpans
let trio: Trio
beforeAll(async () => {
  recorded = recordSpans()
  trio = await openTrio(folder(), { logger: false })
})
afterEach(() => recorded.clear())
afterAll(async () => {
  await trio?.close()
  recorded?.unregister()
})

/** Runs the work in a span of the application; resolves to the ended spans of its trace but that one. */
async function traced(work: () => Promise<unknown>): Promise<ReadableSpan[]> {
  const root = recorded.tracer.startSpan('work of the application')
  await context.with(trace.setSpan(context.active(), root), work)
  root.end()
  const { traceId } = root.spanContext()
  return recorded
    .spans()
    .filter((span) => span.spanContext().traceId === traceId && span.name !== 'work of the application')
}

const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name)

async function remote(): Promise<Store> {
  const store = await trio.connect()
  onTestFinished(() => store.close())
  await store.put('warm', 'v')
  return store
}

/** A member that stands still for longer may lose its leadership to another one. */
const STALL_MS = 300

test('a withLock in a handler of HTTP is one trace: handler, store, follower, leader', () =>
  unlessStalled(STALL_MS, withLockInHandler))

async function withLockInHandler() {
  const store = await trio.follower()
  // The session is opened before, because no caller asks for it.
  await store.put('warm', 'v')
  const server = createServer((_, response) => {
    const span = recorded.tracer.startSpan('POST /orders', { kind: SpanKind.SERVER })
    const handle = () =>
      store.locks.withLock('orders/42', (hold) => hold.kv.put('orders/42/state', 'charged'))
    void context.with(trace.setSpan(context.active(), span), handle).then(() => {
      span.end()
      response.end(span.spanContext().traceId)
    })
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  recorded.clear()
  const traceId = await (await fetch(`http://127.0.0.1:${port}/orders`, { method: 'POST' })).text()
  const spans = recorded.spans().filter((span) => span.spanContext().traceId === traceId)
  const root = spans.find(({ name }) => name === 'POST /orders')
  if (root === undefined) throw new Error('the span of the handler is missing')
  const throughFollower = (name: string, depth: number) =>
    [
      `${name} latchkey (client)`,
      `  ${name} latchkey (server at the follower)`,
      `    ${name} latchkey (server at the leader)`,
    ].map((line) => '  '.repeat(depth) + line)
  expect(drawTrace(spans, root)).toEqual([
    'POST /orders (server)',
    '  lock wait (internal)',
    ...throughFollower('tryLock', 2),
    '  lock work (internal)',
    ...throughFollower('put', 2),
    ...throughFollower('release', 1),
  ])
  expect(spans).toHaveLength(12)
}

test('a remote store: the span of a call has the attributes of the conventions for databases', () =>
  unlessStalled(STALL_MS, callsOfRemoteStore))

async function callsOfRemoteStore() {
  const { id } = await (await trio.leader()).status()
  const store = await connect(trio.urls[id] as string, { logger: false })
  onTestFinished(() => store.close())
  await store.put('warm', 'v')
  const guard = { key: 'orders/42', token: 7 }
  const spans = await traced(async () => {
    await store.put('k', 'v')
    await store.get('k')
    await store.put('k', 'v', { guard }).catch(() => {})
  })
  const [first, second] = named(spans, 'put latchkey').filter(({ kind }) => kind === SpanKind.CLIENT)
  const { hostname, port } = new URL(trio.urls[id] as string)
  const about = { 'db.system.name': 'latchkey', 'db.namespace': 'latchkey', 'db.operation.name': 'put' }
  const member = { 'server.address': hostname, 'server.port': Number(port) }
  expect(first?.attributes).toEqual({ ...about, ...member })
  expect(first?.status.code).toBe(SpanStatusCode.UNSET)
  const failed = { 'db.response.status_code': 'ERR_FENCED', 'error.type': 'ERR_FENCED' }
  expect(second?.attributes).toEqual({ ...about, ...member, ...failed })
  expect(second?.status.code).toBe(SpanStatusCode.ERROR)
  expect(second?.events.map(({ name }) => name)).toEqual(['exception'])
  const servers = spans.filter(({ kind }) => kind === SpanKind.SERVER)
  expect(servers.map(({ name }) => name)).toEqual(['put latchkey', 'get latchkey', 'put latchkey'])
  expect(servers[2]?.attributes).toEqual({
    ...about,
    ...failed,
    'latchkey.member.id': id,
    'latchkey.member.role': 'leader',
  })
}

test('each kind of wait has a span, and says what was waited for and whether it was granted', async () => {
  const store = await remote()
  await store.latches.create('latch', 0)
  const held = await store.locks.acquire('held')
  const spans = await traced(async () => {
    await (await store.locks.acquire('a')).release()
    await (await store.locks.acquireAll(['b', 'c'])).release()
    await (await store.semaphores.acquire('s', { of: 2 })).release()
    await (await store.elections.campaign('e')).resign()
    await store.webLocks.request('w', () => {})
    await store.latches.wait('latch')
    await store.barriers.enter('barrier', { parties: 1 })
    await store.sub('sub/').locks.withLock('x', async () => {})
    await store.locks.acquire('held', { wait: 50 }).catch(() => {})
    await store.getDistributedLock('held', '5s').tryLock()
  })
  await held.release()
  const waits = spans.filter(({ attributes }) => attributes['latchkey.wait.kind'] !== undefined)
  const shown = waits.map(
    ({ name, attributes: { 'latchkey.keys': keys, 'latchkey.wait.granted': granted } }) => [
      name,
      keys,
      granted,
    ],
  )
  expect(shown).toEqual([
    ['lock wait', ['a'], true],
    ['lock_set wait', ['b', 'c'], true],
    ['semaphore wait', ['s'], true],
    ['election wait', ['e'], true],
    ['web_lock wait', ['w'], true],
    ['latch wait', ['latch'], true],
    ['barrier wait', ['barrier'], true],
    ['lock wait', ['sub/x'], true],
    ['lock wait', ['held'], false],
  ])
})

test('OB2: a call that its caller gives up, and one that the close of its store ends, have ended spans', async () => {
  const store = await trio.connect()
  const signal = AbortSignal.abort('enough')
  const spans = await traced(async () => {
    await store.put('k', 'v', { signal }).catch(() => {})
    const pending = store.put('k', 'v').catch(() => {})
    await store.close()
    await pending
  })
  const codes = named(spans, 'put latchkey')
    .filter(({ kind }) => kind === SpanKind.CLIENT)
    .map(({ attributes }) => attributes['error.type'])
  expect(codes).toEqual(['ERR_ABORTED', 'ERR_CLOSED'])
})

test('renewals have no spans, because one request renews the holds of all callers', async () => {
  const store = await remote()
  const spans = await traced(async () => {
    const renewals = store.locks.watch('renewed', { renewals: true })
    const hold = await store.locks.acquire('renewed', { lease: '30s' })
    for await (const { type } of renewals) if (type === 'renewed') break
    await hold.release()
  })
  expect(spans.map(({ name }) => name).filter((name) => name.startsWith('renew'))).toEqual([])
})

test('tracing: false: no span, though an SDK is registered; anything but a boolean is a TypeError', async () => {
  const store = await trio.connect({ tracing: false })
  onTestFinished(() => store.close())
  expect(await traced(() => store.locks.withLock('untraced', async () => store.put('k', 'v')))).toEqual([])
  await expect(trio.connect({ tracing: 'yes' as never })).rejects.toThrow('tracing must be true or false')
  await expect(trio.connect({ tracin: true } as never)).rejects.toThrow('did you mean "tracing"?')
  const traces = await trio.connect({ tracing: true })
  onTestFinished(() => traces.close())
  expect((await traced(() => traces.get('k'))).length).toBeGreaterThan(0)
})

test.each(['start', 'end'] as const)(
  'OB4: an SDK that throws at the %s of a span changes no call, and is one line of the log',
  async (place) => {
    const lines: string[] = []
    const logger = { ...silentLogger, warn: (message: string) => void lines.push(message) }
    const store = await trio.connect({ logger })
    onTestFinished(() => store.close())
    recorded.failingAt = place
    onTestFinished(() => {
      recorded.failingAt = undefined
    })
    await store.put('k', 'v')
    await store.locks.withLock('l', async (hold) => hold.kv.put('k', 'w'))
    expect(Buffer.from((await store.get('k')) as Uint8Array).toString()).toBe('w')
    expect(lines).toEqual([expect.stringContaining('the OpenTelemetry SDK has failed')])
  },
)
