// Test: HTTP with a real member in memory: keys with conditions, locks with the caller's own id, rights, and
// errors.

import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { httpMemberOfFile } from './testing/http-member.js'
import { ROUTE_EXAMPLES } from './testing/route-examples.js'

let ready = true
let warning: string | undefined

const auth = {
  tokens: [
    { token: 'reader', rights: ['read'] as const },
    { token: 'writer', rights: ['read', 'write'] as const },
  ],
}
const http = httpMemberOfFile(auth, () => ({
  isReady: () => ready,
  warning: () => warning,
  origins: new Set(['https://ok.example']),
}))

type Init = {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer>
  signal?: AbortSignal
}

const call = (path: string, { headers = {}, ...init }: Init = {}) =>
  fetch(http.url + path, { ...init, headers: { authorization: 'Bearer writer', ...headers } })

const put = (key: string, body: string, headers: Record<string, string> = {}) =>
  call(`/v1/kv/${key}`, { method: 'PUT', body, headers })

async function post(path: string, body: unknown, init: Init = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await call(`/v1/locks/${path}`, { method: 'POST', body: text, ...init })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('keys', () => {
  test('what was put is got, byte for byte, with its revision as ETag', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    const written = await call('/v1/kv/a%2Fb%ff', { method: 'PUT', body: bytes })
    const { revision } = (await written.json()) as { revision: number }
    expect([written.status, written.headers.get('etag')]).toEqual([200, `"${revision}"`])
    const read = await call('/v1/kv/a%2Fb%ff')
    expect([read.status, read.headers.get('etag')]).toEqual([200, `"${revision}"`])
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(bytes)
    expect((await call('/v1/kv/a%2Fb%ff', { headers: { 'if-none-match': `"${revision}"` } })).status).toBe(
      304,
    )
    const head = await call('/v1/kv/a%2Fb%ff', { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '256'])
  })

  test('an absent key is 404, deleted or read', async () => {
    expect((await call('/v1/kv/absent')).status).toBe(404)
    expect((await call('/v1/kv/absent', { method: 'DELETE' })).status).toBe(404)
    await put('gone', 'x')
    expect((await call('/v1/kv/gone', { method: 'DELETE' })).status).toBe(204)
    expect((await call('/v1/kv/gone')).status).toBe(404)
  })

  test('If-None-Match: * writes only where there is nothing, If-Match only over that very value', async () => {
    expect((await put('cond', '1', { 'if-match': '*' })).status).toBe(412)
    const first = await put('cond', '1', { 'if-none-match': '*' })
    expect(first.status).toBe(200)
    expect((await put('cond', '2', { 'if-none-match': '*' })).status).toBe(412)
    const etag = first.headers.get('etag') ?? ''
    expect((await put('cond', '2', { 'if-match': etag })).status).toBe(200)
    expect((await put('cond', '3', { 'if-match': etag })).status).toBe(412)
    expect((await call('/v1/kv/cond', { method: 'DELETE', headers: { 'if-match': etag } })).status).toBe(412)
    expect(await (await call('/v1/kv/cond')).text()).toBe('2')
  })

  test.each([
    [{ 'if-match': '7' }],
    [{ 'if-match': '"1", "2"' }],
    [{ 'if-none-match': '"1"' }],
    [{ 'if-match': '*', 'if-none-match': '*' }],
    [{ 'latchkey-guard': 'key' }],
    [{ 'latchkey-guard': 'key;0' }],
  ])('%j is 400', async (headers) => {
    expect((await put('bad', '1', headers)).status).toBe(400)
  })

  test('K39: a guarded write happens only under that hold', async () => {
    const { body } = await post('g%2F1:acquire', { id: 'me', lease: '1m' })
    const guard = `g%2F1;${String(body.fencingToken)}`
    expect((await put('guarded', 'ok', { 'latchkey-guard': guard })).status).toBe(200)
    const late = await put('guarded', 'late', { 'latchkey-guard': `g%2F1;${Number(body.fencingToken) + 1}` })
    expect([late.status, (await late.json()) as object]).toEqual([
      409,
      {
        title: 'Conflict',
        status: 409,
        detail: expect.stringContaining('me has held it'),
        code: 'ERR_FENCED',
        message: expect.stringContaining('me has held it'),
        retryable: false,
        outcome: 'not-applied',
        key: 'g/1',
        token: Number(body.fencingToken) + 1,
        holder: {
          id: 'me',
          fencingToken: body.fencingToken,
          remainingMillis: expect.any(Number),
          sinceMillis: expect.any(Number),
        },
      },
    ])
    expect(await (await call('/v1/kv/guarded')).text()).toBe('ok')
  })

  test('the caps: 1 MiB is a value, a byte more is 413; a key over 4 KiB too', async () => {
    const mebibyte = 'x'.repeat(1024 * 1024)
    expect((await put('big', mebibyte)).status).toBe(200)
    expect((await put('big', `${mebibyte}y`)).status).toBe(413)
    expect((await put('k'.repeat(4097), 'x')).status).toBe(413)
    // Every route with a key, and every parameter that is one.
    for (const { method, route, body } of ROUTE_EXAMPLES.filter(({ route }) =>
      /\{(key|name)\}/.test(route),
    )) {
      const path = route.replace(/\{.*\}/, 'k'.repeat(4097))
      const answer = await call(path, { method, ...(body && { body: body('') }) })
      expect(answer.status, `${method} ${route}`).toBe(413)
    }
    for (const list of ['kv', 'locks', 'semaphores', 'latches', 'barriers', 'watch', 'locks:watch'])
      expect((await call(`/v1/${list}?prefix=${'k'.repeat(4097)}`)).status, list).toBe(413)
  })

  test.each([
    '/v1/kv/',
    '/v1/kv/%zz',
    '/v1/kv/a/b',
    '/v1/kv/a?timeout=1.5s',
    '/v1/kv/a?colour=1',
    '/v1/kv/a?consistency=no',
  ])('%s is 400', async (path) => {
    const response = await call(path)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'BAD_REQUEST', message: expect.any(String) })
  })
})

describe('locks', () => {
  test('acquired, renewed, shown and released under the own id', async () => {
    const got = await post('l1:acquire', { id: 'one', lease: '20s', context: 'ctx' })
    expect(got).toEqual({
      status: 200,
      body: { id: 'one', fencingToken: expect.any(Number), remainingMillis: expect.any(Number) },
    })
    const { fencingToken, remainingMillis } = got.body as { fencingToken: number; remainingMillis: number }
    // K4: never more than the lease from the moment of the asking.
    expect(remainingMillis).toBeLessThanOrEqual(20_000)
    expect(remainingMillis).toBeGreaterThan(10_000)
    const shown = (await (await call('/v1/locks/l1')).json()) as object
    expect(shown).toMatchObject({ id: 'one', fencingToken, acquires: 1, context: 'ctx', code: 'HELD' })
    const renewed = await post('l1:renew', { id: 'one', fencingToken })
    expect(renewed).toMatchObject({ status: 200, body: { id: 'one', fencingToken } })
    expect(Number(renewed.body.remainingMillis)).toBeGreaterThan(10_000)
    expect((await post('l1:release', { id: 'one', fencingToken })).status).toBe(200)
    expect((await call('/v1/locks/l1')).status).toBe(404)
  })

  test('C2: the same id asked again gets the same hold, and one release ends it', async () => {
    const first = await post('l2:acquire', { id: 'one', lease: '1m' })
    const again = await post('l2:acquire', { id: 'one', lease: '1m' })
    expect(again.body.fencingToken).toBe(first.body.fencingToken)
    expect((await post('l2:release', { id: 'one', fencingToken: first.body.fencingToken })).status).toBe(200)
    expect((await call('/v1/locks/l2')).status).toBe(404)
  })

  test('another id is told who holds it', async () => {
    await post('l3:acquire', { id: 'one', lease: '1m', context: 'busy' })
    const refused = await post('l3:acquire', { id: 'two', lease: '10s' })
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: 'HELD',
        id: 'one',
        context: 'busy',
        success: false,
        retryable: true,
        outcome: 'not-applied',
      },
    })
  })

  test('K10: renew and release by a stranger, with another token, or of nothing', async () => {
    const { body } = await post('l4:acquire', { id: 'one', lease: '1m' })
    const token = Number(body.fencingToken)
    for (const verb of ['renew', 'release']) {
      expect(await post(`l4:${verb}`, { id: 'two', fencingToken: token })).toMatchObject({
        status: 409,
        body: { code: 'ERR_NOT_OWNER', key: 'l4', token, owner: { id: 'one' } },
      })
      expect(await post(`l4:${verb}`, { id: 'one', fencingToken: token + 1 })).toMatchObject({
        status: 409,
        body: { code: 'ERR_NOT_OWNER' },
      })
      expect(await post(`nobody:${verb}`, { id: 'one', fencingToken: 1 })).toMatchObject({
        status: 409,
        body: { code: 'ERR_LOCK_LOST', key: 'nobody', token: 1 },
      })
    }
  })

  test('K4: a wait ends with the grant, and what is left of the lease counts from the asking, neither more nor less', async () => {
    const { body } = await post('l5:acquire', { id: 'one', lease: '30s' })
    const asked = performance.now()
    const waiting = post('l5:acquire', { id: 'two', lease: '10s', wait: '20s' })
    await waiters('l5', 1)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await post('l5:release', { id: 'one', fencingToken: body.fencingToken })
    const granted = await waiting
    const elapsed = performance.now() - asked
    expect(granted.status).toBe(200)
    expect(Number(granted.body.fencingToken)).toBeGreaterThan(Number(body.fencingToken))
    expect(Number(granted.body.remainingMillis)).toBeGreaterThan(10_000)
    expect(Number(granted.body.remainingMillis)).toBeLessThanOrEqual(10_000 + elapsed)
  })

  test('K33: a wait that is over is 409, and leaves no place in the queue', async () => {
    await post('l6:acquire', { id: 'one', lease: '30s' })
    expect(await post('l6:acquire', { id: 'two', lease: '10s', wait: '100ms' })).toMatchObject({
      status: 409,
      body: { code: 'HELD', id: 'one', waitedMillis: expect.any(Number) },
    })
    await waiters('l6', 0)
  })

  test('K28: a caller that goes away leaves the queue', async () => {
    await post('l7:acquire', { id: 'one', lease: '30s' })
    const going = new AbortController()
    const waiting = post('l7:acquire', { id: 'two', lease: '10s', wait: '20s' }, { signal: going.signal })
    await waiters('l7', 1)
    going.abort()
    await expect(waiting).rejects.toThrow(/abort/)
    await waiters('l7', 0)
  })

  test('one that goes away does not take the place of one that asked again under the same id', async () => {
    const { body } = await post('l8:acquire', { id: 'one', lease: '30s' })
    const going = new AbortController()
    const first = post('l8:acquire', { id: 'two', lease: '10s', wait: '20s' }, { signal: going.signal })
    await waiters('l8', 1)
    const again = post('l8:acquire', { id: 'two', lease: '10s', wait: '20s' })
    await expect.poll(() => http.requestHandler.busy, { interval: 5 }).toBe(2)
    const third = post('l8:acquire', { id: 'three', lease: '10s', wait: '20s' })
    await waiters('l8', 2)
    going.abort()
    await expect(first).rejects.toThrow(/abort/)
    await post('l8:release', { id: 'one', fencingToken: body.fencingToken })
    const granted = await again
    expect(granted).toMatchObject({ status: 200, body: { id: 'two' } })
    await post('l8:release', { id: 'two', fencingToken: granted.body.fencingToken })
    expect((await third).status).toBe(200)
  })

  test.each([
    ['acquire', '{'],
    ['acquire', '[]'],
    ['acquire', {}],
    ['acquire', { id: '' }],
    ['acquire', { id: 'x', lease: '49ms' }],
    ['acquire', { id: 'x', lease: '1.5s' }],
    ['acquire', { id: 'x', wait: 0 }],
    ['acquire', { id: 'x', context: 7 }],
    ['acquire', { id: 'x', colour: 1 }],
    ['renew', { id: 'x' }],
    ['release', { id: 'x', fencingToken: '1' }],
    ['release', { id: 'x', fencingToken: 1, lease: '1s' }],
  ])('%s with %j is 400', async (verb, body) => {
    expect(await post(`bad:${verb}`, body)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
  })

  test('a verb needs a POST, a POST needs a verb', async () => {
    expect((await call('/v1/locks/a', { method: 'POST', body: '{}' })).status).toBe(405)
    expect((await call('/v1/locks/a:acquire', { method: 'PUT', body: '{}' })).status).toBe(405)
    expect((await post('a:acquire', { id: 'x', context: 'c'.repeat(4097) })).status).toBe(413)
  })
})

/** Waits until that many wait for the lock: the store tells, no time passes for its own sake. */
async function waiters(key: string, count: number): Promise<void> {
  await expect
    .poll(async () => (await http.member.store.locks.query(key))[0]?.waiters, { interval: 5 })
    .toBe(count)
}

describe('who may', () => {
  const as = (authorization: string | undefined, path: string, method = 'GET') =>
    fetch(http.url + path, {
      method,
      ...(authorization ? { headers: { authorization } } : {}),
      ...(method === 'PUT' ? { body: 'x' } : {}),
    })

  test.each([
    [undefined, '/v1/kv/absent', 'GET', 401],
    ['Bearer wrong', '/v1/kv/absent', 'GET', 401],
    ['Basic reader', '/v1/kv/absent', 'GET', 401],
    ['Bearer reader', '/v1/kv/absent', 'GET', 404],
    ['bearer reader', '/v1/kv/absent', 'GET', 404],
    ['Bearer reader', '/v1/kv/x', 'PUT', 403],
    ['Bearer reader', '/v1/kv/x', 'DELETE', 403],
    [undefined, '/status', 'GET', 401],
    [undefined, '/metrics', 'GET', 401],
    ['Bearer reader', '/metrics', 'GET', 200],
    [undefined, '/livez', 'GET', 200],
    [undefined, '/readyz', 'GET', 200],
  ])('%s at %s by %s: %d', async (authorization, path, method, status) => {
    expect((await as(authorization, path, method)).status).toBe(status)
  })

  test('a page of a strange origin is refused before anything is done', async () => {
    const refused = await call('/v1/kv/origin', {
      method: 'PUT',
      body: 'x',
      headers: { origin: 'https://attacker.example' },
    })
    expect(refused.status).toBe(403)
    expect((await call('/v1/kv/origin')).status).toBe(404)
    expect(
      (await call('/v1/kv/origin', { method: 'PUT', body: 'x', headers: { origin: 'https://ok.example' } }))
        .status,
    ).toBe(200)
  })

  test('a name that was made to lead to loopback is refused', async () => {
    const sent = httpRequest({ port: http.port, path: '/livez', headers: { host: 'attacker.example' } })
    sent.end()
    const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }]
    response.resume()
    expect(response.statusCode).toBe(403)
  })
})

test('/status is the status of the store; /readyz follows readiness', async () => {
  const status = (await (await call('/status')).json()) as object
  expect(status).toMatchObject({
    id: 'a',
    role: 'leader',
    leader: 'a',
    members: [{ id: 'a', role: 'voter' }],
  })
  ready = false
  expect((await call('/readyz')).status).toBe(503)
  ready = true
  expect((await call('/readyz')).status).toBe(200)
  warning = 'No session can be opened.'
  expect(await (await call('/readyz')).text()).toBe('ok, but: No session can be opened.\n')
  warning = undefined
})

test('what is not there is 404, and a wrong method says which are right', async () => {
  expect((await call('/nothing')).status).toBe(404)
  const wrong = await call('/v1/kv/a', { method: 'POST', body: 'x' })
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT, DELETE'])
})
