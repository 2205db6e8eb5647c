// Test: without an OpenTelemetry SDK, a store and its member make no spans, and node:diagnostics_channel
// reports calls, waits and works (docs/tracing.md).

import { tracingChannel } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import { OpenTelemetry, Tracing } from '@latchkey/client'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { RequestTracer } from '../member/request-tracer.js'
import { open } from '../open/index.js'
import type { EmbeddedStore } from '../open/embedded-store.js'

const REGISTRY = Symbol.for('opentelemetry.js.api.1')
const registry = globalThis as { [REGISTRY]?: unknown }
const loadedApi = () =>
  Object.keys(createRequire(import.meta.url).cache ?? {}).filter((path) =>
    path.includes('@opentelemetry/api'),
  )

let store: EmbeddedStore
beforeAll(async () => {
  store = await open({ id: 'a', memory: true, cluster: 'shop', logger: false })
  await store.ready()
})
afterEach(() => {
  vi.restoreAllMocks()
  delete registry[REGISTRY]
})
afterAll(() => store?.close())

async function useAll(): Promise<void> {
  await store.put('k', 'v')
  await store.get('k')
  await store.status()
  await store.locks.withLock('l', async (hold) => hold.kv.put('k', 'w'))
  const held = await store.locks.acquire('m')
  const waiting = store.locks.acquire('m', { wait: '20s' })
  await held.release()
  await (await waiting).release()
  await (await store.locks.acquireAll(['a', 'b'])).release()
  await store.barriers.enter('barrier', { parties: 1 })
}

test('OB1: where nobody listens nothing is begun, nothing goes with a request, and the API is not loaded', async () => {
  const begun = [
    vi.spyOn(Tracing.prototype, 'call'),
    vi.spyOn(Tracing.prototype, 'wait'),
    vi.spyOn(Tracing.prototype, 'work'),
    vi.spyOn(OpenTelemetry.prototype, 'start'),
    vi.spyOn(RequestTracer.prototype, 'request'),
  ]
  await useAll()
  expect(begun.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0, 0, 0])
  expect(loadedApi()).toEqual([])
})

test('the API is loaded once an SDK is registered, and only then', async () => {
  registry[REGISTRY] = { version: '1.9.0' }
  await useAll()
  expect(loadedApi()).toEqual([])
  registry[REGISTRY] = { version: '1.9.0', trace: { getTracer: () => undefined } }
  await useAll()
  expect(loadedApi()).not.toEqual([])
})

test('the channels tell of calls, waits and works, in order and with one message each', async () => {
  const told: string[] = []
  const messages = new Map<string, Set<unknown>>()
  for (const name of ['call', 'wait', 'work']) {
    const channel = tracingChannel(`latchkey:${name}`)
    const at = (event: string) => (message: unknown) => {
      told.push(`${name} ${event}`)
      messages.set(name, (messages.get(name) ?? new Set()).add(message))
    }
    const listeners = {
      start: at('start'),
      end: at('end'),
      asyncStart: at('asyncStart'),
      asyncEnd: at('asyncEnd'),
      error: at('error'),
    }
    channel.subscribe(listeners)
    onTestFinished(() => channel.unsubscribe(listeners))
  }
  const failing = new Error('the work fails')
  const work = async () => {
    throw failing
  }
  await expect(store.locks.withLock('orders/42', work)).rejects.toBe(failing)
  expect(told).toEqual([
    'wait start',
    'call start',
    'call end',
    'wait end',
    'call asyncStart',
    'call asyncEnd',
    'wait asyncStart',
    'wait asyncEnd',
    'work start',
    'work end',
    'work error',
    'work asyncStart',
    'work asyncEnd',
    'call start',
    'call end',
    'call asyncStart',
    'call asyncEnd',
  ])
  const of = (name: string) => [...(messages.get(name) ?? [])]
  expect(of('wait')).toEqual([{ kind: 'lock', namespace: 'shop', keys: ['orders/42'], isGranted: true }])
  const token = expect.any(Number) as number
  expect(of('work')).toEqual([{ namespace: 'shop', key: 'orders/42', fencingToken: token, error: failing }])
  expect(of('call')).toEqual([
    { operation: 'tryLock', namespace: 'shop', address: undefined },
    { operation: 'release', namespace: 'shop', address: undefined },
  ])
})

test('an error of a call is in its message', async () => {
  const errors: unknown[] = []
  const { error: channel } = tracingChannel('latchkey:call')
  const listener = (message: unknown) => void errors.push((message as { error?: unknown }).error)
  channel.subscribe(listener)
  onTestFinished(() => {
    channel.unsubscribe(listener)
  })
  const guard = { key: 'orders/42', token: 1_000 }
  await expect(store.put('k', 'v', { guard })).rejects.toMatchObject({ code: 'ERR_FENCED' })
  expect(errors).toEqual([expect.objectContaining({ code: 'ERR_FENCED' })])
})
