// Test: every HTTP route that changes something, with the header Idempotency-Key. The test sends each request
// twice. The second request must change nothing, or the route must refuse the header.

import { expect, test } from 'vitest'
import { httpMemberOfFile } from './testing/http-member.js'
import { ROUTE_IDS, type RouteId, routeAt } from './route-table.js'

const http = httpMemberOfFile()

/** One request, as the path and the body. The fencing token of `prepare` may be a part of the body. */
interface Request {
  readonly path: string
  readonly body?: object | string
  /** Makes what the request needs, and resolves to the fencing token of a hold. */
  readonly prepare?: () => Promise<number | undefined>
  /** The request needs this fencing token. */
  readonly withToken?: (token: number) => object
}

const post = (path: string, body: object) => http.send('POST', path, body)
const acquired =
  (path: string, more: object = {}) =>
  async () =>
    (await post(path, { id: 'me', lease: '1h', ...more })).body.fencingToken as number
const ofHold = (fencingToken: number) => ({ id: 'me', fencingToken })
const made = (path: string, body: object) => async () => void (await post(path, body))

const lock = (verb: string, withToken: Request['withToken'] = ofHold): Request => ({
  path: `/v1/locks/${verb}:${verb}`,
  prepare: acquired(`/v1/locks/${verb}:acquire`),
  withToken,
})
const leader = (verb: string, withToken: Request['withToken'] = ofHold): Request => ({
  path: `/v1/elections/${verb}:${verb}`,
  prepare: acquired(`/v1/elections/${verb}:campaign`),
  withToken,
})
const permits = (verb: string): Request => ({
  path: `/v1/semaphores/${verb}:${verb}`,
  prepare: acquired(`/v1/semaphores/${verb}:acquire`, { of: 3 }),
  withToken: ofHold,
})
const latch = (verb: string, body?: object): Request => ({
  path: `/v1/latches/${verb}${verb === 'remove' ? '' : `:${verb}`}`,
  ...(verb !== 'create' && {
    prepare: made(`/v1/latches/${verb}:create`, { count: verb === 'wait' ? 0 : 3 }),
  }),
  ...(body !== undefined && { body }),
})

/**
 * once: the cluster applies the request once, and both answers are equal. hold: both answers name the same
 * hold. safe: the second request changes nothing by its nature. refused: the route refuses the header.
 */
type Kind = 'once' | 'hold' | 'safe' | 'refused'

const put = { type: 'put', key: 'b', value: { text: '1' } }
const ROUTES: Partial<Record<RouteId, readonly [Kind, Request]>> = {
  putKey: ['once', { path: '/v1/kv/p', body: 'value' }],
  deleteKey: [
    'once',
    { path: '/v1/kv/d', prepare: () => http.member.store.put('d', '1').then(() => undefined) },
  ],
  increment: ['once', { path: '/v1/kv/i:increment' }],
  batch: ['once', { path: '/v1/batch', body: { ops: [put, { type: 'increment', key: 'bi' }] } }],
  txn: ['once', { path: '/v1/txn', body: { then: [{ type: 'increment', key: 'ti' }] } }],
  acquireLock: ['hold', { path: '/v1/locks/a:acquire', body: { lease: '1h' } }],
  acquireLocks: ['hold', { path: '/v1/locks:acquireAll', body: { keys: ['s1', 's2'], lease: '1h' } }],
  acquirePermits: ['hold', { path: '/v1/semaphores/a:acquire', body: { of: 3, lease: '1h' } }],
  campaign: ['hold', { path: '/v1/elections/a:campaign', body: { lease: '1h' } }],
  getMany: ['safe', { path: '/v1/kv:getMany', body: { keys: ['p'] } }],
  renewLock: ['safe', lock('renew')],
  releaseLock: ['safe', lock('release')],
  downgradeLock: ['hold', lock('downgrade')],
  forceReleaseLock: ['safe', lock('forceRelease', (fencingToken) => ({ fencingToken }))],
  renewLocks: [
    'safe',
    {
      path: '/v1/locks:renewAll',
      prepare: acquired('/v1/locks/set1:acquire'),
      withToken: (fencingToken) => ({ id: 'me', locks: [{ key: 'set1', fencingToken }] }),
    },
  ],
  releaseLocks: [
    'safe',
    {
      path: '/v1/locks:releaseAll',
      prepare: acquired('/v1/locks/set2:acquire'),
      withToken: () => ({ id: 'me', keys: ['set2'] }),
    },
  ],
  renewPermits: ['safe', permits('renew')],
  releasePermits: ['safe', permits('release')],
  renewLeadership: ['safe', leader('renew')],
  proclaim: ['hold', leader('proclaim', (token) => ({ ...ofHold(token), value: { text: 'here' } }))],
  resign: ['safe', leader('resign')],
  waitForLatch: ['safe', latch('wait')],
  endSession: ['safe', { path: '/v1/sessions/123456789:end' }],
  transferLeadership: ['refused', { path: '/v1/members:transferLeadership', body: { to: 'a' } }],
  openSession: ['refused', { path: '/v1/sessions', body: {} }],
  touchKey: [
    'once',
    {
      path: '/v1/kv/t:touch',
      body: { ttl: '1h' },
      prepare: () => http.member.store.put('t', '1').then(() => undefined),
    },
  ],
  nextSequence: ['once', { path: '/v1/sequences/n:next', body: {} }],
  resetSequence: ['once', { path: '/v1/sequences/r', prepare: made('/v1/sequences/r:next', {}) }],
  rotateLock: ['hold', lock('rotate')],
  resizeSemaphore: ['once', { ...permits('resize'), withToken: () => ({ of: 5 }) }],
  createLatch: ['once', latch('create', { count: 3 })],
  countDown: ['once', latch('countDown', {})],
  removeLatch: ['once', latch('remove')],
  enterBarrier: ['refused', { path: '/v1/barriers/b:enter', body: { parties: 1 } }],
}

/** Everything that the routes can change, without times and without the stored answers. */
async function state(): Promise<unknown> {
  const { store } = http.member
  const kept = 'latchkey/idempotency/'
  const entries = await store.scan({}, { as: 'string' })
  const keys = entries.map(({ key }) => key).filter((key) => !key.startsWith(kept))
  const values = await Promise.all(
    keys.map(async (key) => {
      const { value, version, remainingMillis } = (await store.getEntry(key, { as: 'string' })) ?? {}
      return [key, value, version, remainingMillis !== undefined]
    }),
  )
  const held = [...(await store.locks.query()), ...(await store.semaphores.query())]
  const holds = held.map((row) => ({ ...row, remainingMillis: 0, sinceMillis: 0, acquires: 0 }))
  const leaders = await Promise.all(
    ['a', 'renew', 'proclaim', 'resign'].map((name) => store.elections.leader(name)),
  )
  const sequences = await Promise.all(['n', 'r'].map((key) => store.getLatestSequence(key)))
  return [values, holds, leaders, sequences, await store.latches.query()]
}

const CHANGING = ROUTE_IDS.filter((id) => routeAt(id).method !== 'GET')

test('the table of this test has every route that changes something, and no other', () => {
  expect(Object.keys(ROUTES).sort()).toEqual([...CHANGING].sort())
})

test.each(CHANGING)('C73: %s with an Idempotency-Key', async (id) => {
  const [kind, { path, body, prepare, withToken }] = ROUTES[id] as readonly [Kind, Request]
  const { method, headers = [], ifRepeated } = routeAt(id)
  expect(headers.includes('Idempotency-Key')).toBe(kind === 'once' || kind === 'hold')
  expect(ifRepeated !== undefined).toBe(kind === 'refused')
  const token = await prepare?.()
  const sent = withToken === undefined ? body : withToken(token as number)
  const send = () => http.send(method, path, sent, { 'idempotency-key': `key-${id}` })
  const before = await state()
  const first = await send()
  if (kind === 'refused') {
    expect([first.status, first.body]).toMatchObject([
      400,
      { code: 'BAD_REQUEST', message: expect.stringContaining('takes no Idempotency-Key') },
    ])
    expect(await state()).toEqual(before)
    return
  }
  expect([200, 204]).toContain(first.status)
  const after = await state()
  const again = await send()
  expect(await state()).toEqual(after)
  if (kind === 'once') {
    expect(again).toEqual(first)
    const other = path.replace(/^(\/v1\/\w+\/)/, '$1other-')
    if (other !== path)
      expect(await http.send(method, other, sent, { 'idempotency-key': `key-${id}` })).toMatchObject({
        status: 409,
        body: { code: 'ERR_MISMATCH' },
      })
    expect(await state()).toEqual(after)
  }
  const holdOf = ({ body: { id, fencingToken, locks } }: typeof first) => [id, fencingToken, locks]
  if (kind === 'hold') expect(holdOf(again)).toEqual(holdOf(first))
})
