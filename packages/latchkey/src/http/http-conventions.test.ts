// Test: HTTP details: OPTIONS and web pages of allowed origins, ETags as proxies send them, probes with a
// query, bodies that end early, and the answers to wrong requests.

import { connect as dial } from 'node:net'
import { expect, test } from 'vitest'
import { httpMemberOfFile } from './testing/http-member.js'

const PAGE = 'https://ok.example'
const seen: string[] = []
let ready = true

const http = httpMemberOfFile(undefined, () => ({
  isReady: () => ready,
  origins: new Set([PAGE]),
  observe: (route, status) => void seen.push(`${route} ${status}`),
}))

const call = (path: string, method = 'GET', headers: Record<string, string> = {}, body?: string) =>
  fetch(http.url + path, { method, headers, ...(body === undefined ? {} : { body }) })

/** The answer to bytes as they are. */
const raw = (text: string, more?: (socket: ReturnType<typeof dial>) => void) =>
  new Promise<string>((resolve) => {
    const socket = dial(http.port, '127.0.0.1')
    let answer = ''
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString()))
    socket.on('close', () => resolve(answer))
    socket.write(text, () => more?.(socket))
  })

test.each([
  ['/livez', 'GET, HEAD'],
  ['/v1/kv/a', 'GET, HEAD, PUT, DELETE'],
  ['/v1/locks/a', 'GET, HEAD'],
])('OPTIONS %s says what one can do there', async (path, allow) => {
  const answer = await call(path, 'OPTIONS')
  expect([answer.status, answer.headers.get('allow')]).toEqual([204, allow])
})

test('a page of an allowed origin is told before its call what it may, and may read the answer', async () => {
  const asked = await call('/v1/kv/page', 'OPTIONS', {
    origin: PAGE,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'authorization, latchkey-guard',
  })
  expect(asked.status).toBe(204)
  expect(asked.headers.get('access-control-allow-origin')).toBe(PAGE)
  expect(asked.headers.get('access-control-allow-methods')).toContain('PUT')
  expect(asked.headers.get('access-control-allow-headers')).toContain('Latchkey-Guard')
  const read = await call('/v1/kv/page', 'GET', { origin: PAGE })
  expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([404, PAGE])
  expect(read.headers.get('vary')).toBe('Origin')
  const stranger = await call('/v1/kv/page', 'OPTIONS', { origin: 'https://attacker.example' })
  expect([stranger.status, stranger.headers.get('access-control-allow-origin')]).toEqual([403, null])
  const nobody = await call('/v1/kv/page')
  expect(nobody.headers.get('access-control-allow-origin')).toBeNull()
})

test('a page asks for a verb of a lock', async () => {
  const asked = await call('/v1/locks/a:acquire', 'OPTIONS', {
    origin: PAGE,
    'access-control-request-method': 'POST',
  })
  expect(asked.headers.get('access-control-allow-methods')).toContain('POST')
})

test('POST :increment adds to a whole number, once a call, and says what it is now', async () => {
  const add = (key: string, body?: string, headers: Record<string, string> = {}) =>
    call(`/v1/kv/${key}:increment`, 'POST', headers, body)
  const first = await add('n')
  expect([first.status, await first.json()]).toEqual([200, { value: 1, revision: expect.any(Number) }])
  const more = await add('n', '{"by":41}')
  const { value, revision } = (await more.json()) as { value: number; revision: number }
  expect([value, more.headers.get('etag')]).toEqual([42, `"${revision}"`])
  expect(await (await call('/v1/kv/n')).text()).toBe('42')
  expect(await (await add('n', '{"by":-2}')).json()).toMatchObject({ value: 40 })
  for (const body of ['[]', '5', 'x', '{"by":"1"}', '{"by":1.5}', '{"by":null}', '{"step":1}'])
    expect([body, (await add('n', body)).status]).toEqual([body, 400])
  expect((await add('n', undefined, { 'if-match': '*' })).status).toBe(400)
  const fenced = await add('n', undefined, { 'latchkey-guard': 'nobody;1' })
  expect([fenced.status, await fenced.json()]).toMatchObject([409, { code: 'ERR_FENCED' }])
  await call('/v1/kv/text', 'PUT', {}, 'abc')
  const wrong = await add('text')
  expect([wrong.status, await wrong.json()]).toMatchObject([409, { code: 'ERR_NOT_A_NUMBER' }])
  expect(await (await call('/v1/kv/n')).text()).toBe('40')
  // A key may end so: only a POST has a verb.
  expect((await call('/v1/kv/n:increment', 'PUT', {}, 'v')).status).toBe(200)
  expect(await (await call('/v1/kv/n:increment')).text()).toBe('v')
  const post = await call('/v1/kv/n', 'POST')
  expect([post.status, await post.json()]).toMatchObject([
    405,
    { message: expect.stringMatching(/:increment/) },
  ])
})

test('If-None-Match of a read: a list, a weak one, and any', async () => {
  const etag = (await call('/v1/kv/e', 'PUT', {}, 'x')).headers.get('etag') ?? ''
  for (const known of [etag, `W/${etag}`, `"999", ${etag}`, '*']) {
    expect((await call('/v1/kv/e', 'GET', { 'if-none-match': known })).status, known).toBe(304)
  }
  expect((await call('/v1/kv/e', 'GET', { 'if-none-match': '"999"' })).status).toBe(200)
})

test.each(['"999"', '"0"', '"abc"', 'W/"1"'])(
  'If-Match: %s is an ETag, and not that of the value',
  async (etag) => {
    await call('/v1/kv/m', 'PUT', {}, 'x')
    expect((await call('/v1/kv/m', 'PUT', { 'if-match': etag }, 'y')).status).toBe(412)
    expect((await call('/v1/kv/m', 'DELETE', { 'if-match': etag })).status).toBe(412)
    expect(await (await call('/v1/kv/m')).text()).toBe('x')
  },
)

test('a guard that is given twice is a mistake, not another guard', async () => {
  const guards = 'Latchkey-Guard: a;1\r\nLatchkey-Guard: b;2\r\n'
  const answer = await raw(
    `PUT /v1/kv/g HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${guards}Content-Length: 1\r\n\r\nx`,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
})

test('probes and scrapers may add a query, and may name the whole address', async () => {
  for (const path of ['/livez?verbose', '/readyz?x=1', '/metrics?name=up', '/status?pretty=1']) {
    expect((await call(path)).status, path).toBe(200)
  }
  expect((await call('/v1/kv/a?pretty=1')).status).toBe(400)
  const answer = await raw(
    'GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  )
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('a member that is not ready says when to ask again', async () => {
  ready = false
  const answer = await call('/readyz')
  ready = true
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
})

test('a caller that goes away in the middle of its body is no fault of the member', async () => {
  const before = seen.length
  await raw('PUT /v1/kv/half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx', (socket) =>
    socket.destroy(),
  )
  await expect.poll(() => seen.slice(before)).toEqual(['kv 400'])
  expect((await call('/v1/kv/half')).status).toBe(404)
})

test('a POST without a verb is told which there are; a release of what was released, that it is over', async () => {
  const noVerb = (await (await call('/v1/locks/a:frob', 'POST', {}, '{}')).json()) as { message: string }
  expect(noVerb.message).toContain(':release')
  const over = await call('/v1/locks/a:release', 'POST', {}, '{"id":"x","fencingToken":7}')
  expect(over.status).toBe(409)
  expect(await over.json()).toMatchObject({
    code: 'ERR_LOCK_LOST',
    message: expect.stringContaining('released'),
  })
})

test('C28: values in a body that cannot be made a text, or only a long one, are refused with a short reason', async () => {
  const acquire = async (body: string) => {
    const answer = await call('/v1/locks/a:acquire', 'POST', {}, body)
    return { status: answer.status, message: ((await answer.json()) as { message: string }).message }
  }
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const long = JSON.stringify('x'.repeat(50_000))
  for (const value of ['{"toString":1,"valueOf":1}', deep, long, '{"__proto__":{}}']) {
    for (const body of [
      `{"id":"x","lease":${value}}`,
      `{"id":"x","wait":${value}}`,
      `{"id":"x","a":${value}}`,
    ]) {
      const { status, message } = await acquire(body)
      expect(status).toBe(400)
      expect(message.length).toBeLessThan(250)
    }
  }
  const named = await acquire(`{"id":"x",${long}:1}`)
  expect(named).toMatchObject({ status: 400, message: expect.stringContaining('unknown field') })
  expect(named.message.length).toBeLessThan(250)
  expect(http.faults).toEqual([])
})

test('?ttl= of a put: the key goes by itself, and a get says what remains; of other calls it is unknown', async () => {
  expect((await fetch(`${http.url}/v1/kv/ttl?ttl=1h`, { method: 'PUT', body: 'v' })).status).toBe(200)
  const left = Number((await fetch(`${http.url}/v1/kv/ttl`)).headers.get('latchkey-remaining-millis'))
  expect(left).toBeGreaterThan(3_000_000)
  expect(
    (await fetch(`${http.url}/v1/kv/ttl?ttl=50`, { method: 'PUT', body: 'w', headers: { 'if-match': '*' } }))
      .status,
  ).toBe(200)
  while ((await fetch(`${http.url}/v1/kv/ttl`)).status === 200)
    await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await fetch(`${http.url}/v1/kv/ttl?ttl=soon`, { method: 'PUT', body: 'v' })).status).toBe(400)
  expect((await fetch(`${http.url}/v1/kv/ttl?ttl=5s`)).status).toBe(400)
})

test('K61: two share a lock, a third that wants it alone is refused; the other mode under the own id too', async () => {
  const post = async (verb: string, fields: object) => {
    const answer = await call(`/v1/locks/shared:${verb}`, 'POST', {}, JSON.stringify(fields))
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const one = await post('acquire', { id: 'one', mode: 'shared' })
  const two = await post('acquire', { id: 'two', mode: 'shared' })
  expect([one.status, two.status, one.body.fencingToken === two.body.fencingToken]).toEqual([200, 200, false])
  expect((await post('acquire', { id: 'three' })).status).toBe(409)
  expect(await post('acquire', { id: 'one' })).toMatchObject({ status: 409, body: { code: 'ERR_DEADLOCK' } })
  expect((await post('acquire', { id: 'x', mode: 'read' })).status).toBe(400)
  for (const { body } of [one, two])
    expect((await post('release', { id: body.id, fencingToken: body.fencingToken })).status).toBe(200)
  expect((await call('/v1/locks/shared')).status).toBe(404)
})
