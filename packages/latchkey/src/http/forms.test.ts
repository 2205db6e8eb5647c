// Test: the forms of HTTP around the doors: OPTIONS and pages of allowed origins, ETags as proxies send them, probes with a query,
// bodies that end early, and what is told to who asks wrongly.

import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect as dial } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OpenedMember, openMember } from '../open/index.js'
import { HttpDoor } from './request-handler.js'

const PAGE = 'https://ok.example'
const seen: string[] = []
let member: OpenedMember
let server: Server
let base: string
let ready = true
const faults: unknown[] = []

beforeAll(async () => {
  member = await openMember({ id: 'a', memory: true, electionTimeout: 100, heartbeat: 10 })
  await member.store.ready()
  const door = new HttpDoor({
    clock: member.clock,
    actAs: (who) => member.actAs(who),
    isReady: () => ready,
    identify: (token, socket) => member.identify(token, socket),
    origins: new Set([PAGE]),
    hosts: new Set(),
    metrics: async () => ({ type: 'text/plain', text: 'latchkey_up 1\n' }),
    failed: (error) => void faults.push(error),
    hasPlace: () => true,
    bodies: member.unfinished,
    wrote: () => {},
    refused: () => {},
    observe: (route, status) => void seen.push(`${route} ${status}`),
  })
  server = createServer(door.handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await member.store.close()
})

const call = (path: string, method = 'GET', headers: Record<string, string> = {}, body?: string) =>
  fetch(base + path, { method, headers, ...(body === undefined ? {} : { body }) })

/** The answer to bytes as they are. */
const raw = (text: string, more?: (socket: ReturnType<typeof dial>) => void) =>
  new Promise<string>((resolve) => {
    const socket = dial((server.address() as AddressInfo).port, '127.0.0.1')
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
  expect(named).toMatchObject({ status: 400, message: expect.stringContaining('Unknown field') })
  expect(named.message.length).toBeLessThan(250)
  expect(faults).toEqual([])
})

test('?ttl= of a put: the key goes by itself, and a get says what remains; of other calls it is unknown', async () => {
  expect((await fetch(`${base}/v1/kv/ttl?ttl=1h`, { method: 'PUT', body: 'v' })).status).toBe(200)
  const left = Number((await fetch(`${base}/v1/kv/ttl`)).headers.get('latchkey-remaining-millis'))
  expect(left).toBeGreaterThan(3_000_000)
  expect(
    (await fetch(`${base}/v1/kv/ttl?ttl=50`, { method: 'PUT', body: 'w', headers: { 'if-match': '*' } }))
      .status,
  ).toBe(200)
  while ((await fetch(`${base}/v1/kv/ttl`)).status === 200)
    await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await fetch(`${base}/v1/kv/ttl?ttl=soon`, { method: 'PUT', body: 'v' })).status).toBe(400)
  expect((await fetch(`${base}/v1/kv/ttl?ttl=5s`)).status).toBe(400)
})
