// Test: /openapi.json of a real member is valid OpenAPI 3.1. A client that is generated from it calls each
// route, and each answer is one that the document describes.

import { Validator } from '@seriousme/openapi-schema-validator'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { OpenAPIClientAxios, type OpenAPIClient } from 'openapi-client-axios'
import { afterAll, beforeAll, expect, test } from 'vitest'

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, object>>
}
type Call = [id: string, parameters?: Record<string, unknown>, body?: unknown]

let cluster: Cluster
let client: OpenAPIClient
let document: { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
beforeAll(async () => {
  cluster = await Cluster.start({ size: 1 })
  const url = cluster.members[0]?.http as string
  document = (await (await fetch(`${url}/openapi.json`)).json()) as typeof document
  const generator = new OpenAPIClientAxios({
    definition: document as never,
    withServer: { url },
    axiosConfigDefaults: {
      validateStatus: () => true,
      responseType: 'text',
      transformResponse: (text: unknown) => text,
    },
  })
  client = await generator.init()
})
afterAll(() => cluster.destroy())

/** Routes without parameters. */
const PLAIN = 'page livez readyz metrics status version openapi identity members listSessions backup'.split(
  ' ',
)

const operations = () => Object.values(document.paths).flatMap((path) => Object.values(path))

/** Calls as the document names them; the answer's status must be one of those that it names. */
async function call([id, parameters = {}, body]: Call): Promise<{
  status: number
  json: Record<string, unknown>
}> {
  const ended = new AbortController()
  const run = client[id] as NonNullable<(typeof client)[string]>
  const isStream = /watch|observe|openSession/i.test(id)
  const config = isStream ? { responseType: 'stream' as const, signal: ended.signal } : {}
  const { status, data } = await run(parameters as never, body as never, config)
  ended.abort()
  const named = operations().find(({ operationId }) => operationId === id)?.responses ?? {}
  expect(Object.keys(named), `${id} answered ${status}`).toContain(String(status))
  const text = isStream ? '' : String(data)
  return { status, json: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {} }
}

test('the document is valid', async () => {
  expect(await new Validator().validate(document as never)).toMatchObject({ valid: true })
})

type Ok = (...given: Call) => Promise<Record<string, unknown>>

async function locks(ok: Ok, key: string, id: string): Promise<void> {
  const hold = await ok('acquireLock', { key }, { id, lease: '30s', context: 'a client' })
  const { fencingToken } = hold
  await ok('watchLock', { key })
  await ok('watchLocks', { prefix: 'a/' })
  expect(await ok('listLocks', { prefix: 'a/' })).toMatchObject({ locks: [{ key, fencingToken }] })
  expect(await ok('getLock', { key })).toMatchObject({ id, fencingToken })
  await ok('renewLock', { key }, { id, fencingToken })
  const rotated = await ok('rotateLock', { key }, { id, fencingToken })
  const present = { id, fencingToken: rotated.fencingToken }
  await ok('downgradeLock', { key }, present)
  await ok('releaseLock', { key }, present)
  expect(await ok('lockHistory', { key })).toMatchObject({
    history: [{ type: 'acquired', id, fencingToken }, { type: 'rotated' }, { type: 'released' }],
  })
  await ok('acquireLock', { key }, { id: 'other' })
  await ok('forceReleaseLock', { key }, {})
}

async function sets(ok: Ok, id: string): Promise<void> {
  const keys = ['set/a', { key: 'set/b', mode: 'shared' }]
  const { locks } = await ok('acquireLocks', {}, { id, keys, lease: '30s' })
  expect(locks).toMatchObject([{ key: 'set/a' }, { key: 'set/b' }])
  await ok('renewLocks', {}, { id, locks })
  expect(await ok('releaseLocks', {}, { id, keys: ['set/a', 'set/b'] })).toMatchObject({ released: 2 })
}

async function latchesAndBarriers(ok: Ok, name: string): Promise<void> {
  await ok('createLatch', { name }, { count: 1 })
  expect(await ok('listLatches', {})).toMatchObject({ latches: [{ name, count: 1 }] })
  expect(await ok('listBarriers', {})).toMatchObject({ barriers: [] })
  expect(await ok('countDown', { name }, {})).toEqual({ left: 0 })
  expect(await ok('waitForLatch', { name })).toEqual({ open: true })
  await ok('removeLatch', { name })
  expect(await ok('enterBarrier', { name }, { parties: 1 })).toMatchObject({ index: 0 })
}

test('a client made from the document calls every route', async () => {
  const seen = new Set<string>()
  const ok = async (...given: Call) => {
    seen.add(given[0])
    const { status, json } = await call(given)
    expect(status, `${given[0]}: ${JSON.stringify(json)}`).toBeLessThan(300)
    return json
  }
  const [key, name, id] = ['a/key', 'a name', 'me'] as const
  for (const plain of PLAIN) await ok(plain)
  await ok('openSession', {}, {})
  await ok('putKey', { key }, 'value')
  await ok('getKey', { key })
  await ok('listKeys', { prefix: 'a/', limit: 10 })
  expect(await ok('getMany', {}, { keys: [key] })).toMatchObject({ entries: [{ key }] })
  expect(await ok('increment', { key: 'n' }, { by: 2 })).toMatchObject({ value: 2 })
  await ok('batch', {}, { ops: [{ type: 'put', key: 'b', value: { text: '1' } }] })
  expect(
    await ok('txn', {}, { when: [{ key: 'c', value: null }], then: [{ type: 'delete', key: 'b' }] }),
  ).toMatchObject({ succeeded: true })
  await ok('watch', { prefix: 'a/', initial: true })
  await ok('touchKey', { key }, { ttl: '1h' })
  expect(await ok('nextSequence', { key }, {})).toEqual({ start: 0, end: 1 })
  expect(await ok('getSequence', { key })).toEqual({ next: 1 })
  await ok('resetSequence', { key })
  await locks(ok, key, id)
  await sets(ok, id)
  const permits = await ok('acquirePermits', { name }, { id, of: 2 })
  expect(await ok('listSemaphores', {})).toMatchObject({ semaphores: [{ name }] })
  await ok('resizeSemaphore', { name }, { of: 3 })
  await ok('renewPermits', { name }, { id, fencingToken: permits.fencingToken })
  await ok('releasePermits', { name }, { id, fencingToken: permits.fencingToken })
  await latchesAndBarriers(ok, name)
  const led = await ok('campaign', { name }, { id, value: { text: 'here' } })
  const leads = { id, fencingToken: led.fencingToken }
  expect(await ok('getLeader', { name })).toMatchObject({ id })
  await ok('observe', { name })
  await ok('renewLeadership', { name }, leads)
  await ok('proclaim', { name }, { ...leads, value: { text: 'there' } })
  await ok('resign', { name }, leads)
  await ok('deleteKey', { key })
  // These are refused here, with a refusal that the document names: one member has nobody to lead in its place.
  const refused: Call[] = [
    ['pageFile', { file: 'none.js' }],
    ['endSession', { id: '12345' }, {}],
    ['transferLeadership', {}, { to: 'b' }],
  ]
  for (const one of refused) {
    seen.add(one[0])
    await call(one)
  }
  expect([...seen].sort()).toEqual(
    operations()
      .map(({ operationId }) => operationId)
      .sort(),
  )
})

test('a refusal is one that the document names', async () => {
  const wrong: [Call, number][] = [
    [['getKey', { key: 'nothing' }], 404],
    [['acquireLock', { key: 'k' }, { id: 'me', leese: '10s' }], 400],
    [['putKey', { key: 'k', 'If-Match': '"7"' }, 'value'], 412],
    [['renewLock', { key: 'k' }, { id: 'me', fencingToken: 1 }], 409],
    [['increment', { key: 'text' }, {}], 409],
  ]
  await call(['putKey', { key: 'text' }, 'no number'])
  for (const [given, status] of wrong) expect((await call(given)).status, given[0]).toBe(status)
})
