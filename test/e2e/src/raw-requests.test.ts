// Test: unusual requests over plain sockets to a real member: each gets a normal answer or a normal error,
// and none ends the member.

import { once } from 'node:events'
import { connect as dial } from 'node:net'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start({ size: 1 })
})
afterAll(() => cluster.destroy())

interface Answer {
  readonly status: number
  readonly type: string | undefined
  readonly body: string
}

/** The last answer, when the connection has ended. */
async function said(bytes: string): Promise<Answer> {
  const socket = dial(cluster.get('a').options.port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += String(chunk)))
  socket.on('error', () => {})
  socket.write(bytes, 'latin1')
  await once(socket, 'close')
  const last = text.slice([...text.matchAll(/HTTP\/1\.1 \d{3} /g)].at(-1)?.index)
  const [head = '', ...body] = last.split('\r\n\r\n')
  return {
    status: Number(head.slice(9, 12)),
    type: /content-type: (.*)/i.exec(head)?.[1],
    body: body.join('\r\n\r\n'),
  }
}

const CLOSE = 'Connection: close\r\n'
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}${CLOSE}\r\n`
const put = (more: string, body: string) =>
  `PUT /v1/kv/raw HTTP/1.1\r\nHost: localhost\r\n${more}${CLOSE}\r\n${body}`

test.each([
  ['no host', `GET /livez HTTP/1.1\r\n${CLOSE}\r\n`, 400],
  ['no HTTP at all', '\u0016\u0003\u0001\u0002\u0000\u0001\r\n\r\n', 400],
  ['a head without end', get('/livez', `X: ${'a'.repeat(40_000)}\r\n`), 431],
  ['an address without end', get(`/v1/kv/${'a'.repeat(30_000)}`), 431],
  ['two lengths', put('Content-Length: 3\r\nContent-Length: 4\r\n', 'abc'), 400],
  ['a length and chunks', put('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
  ['chunks that are none', put('Transfer-Encoding: chunked\r\n', 'zz\r\nabc\r\n0\r\n\r\n'), 400],
  ['bytes that are no address', get('/v1/kv/\u00ff'), 400],
  ['half an encoded byte', get('/v1/kv/%2'), 400],
  ['half an encoded byte in a prefix', get('/v1/kv?prefix=%g'), 400],
  ['a key that is too long', get(`/v1/locks/${'a'.repeat(5_000)}`), 413],
  ['a method that nobody has', `TRACE /v1/kv/raw HTTP/1.1\r\nHost: localhost\r\n${CLOSE}\r\n`, 405],
  ['a file outside of the page', get('/page/..%2f..%2fpackage.json'), 404],
  ['a strange name', get('/livez').replace('localhost', 'evil.example'), 403],
])('refused, with what to do: %s', async (_, bytes, status) => {
  const answer = await said(bytes)
  expect(answer).toMatchObject({ status, type: 'application/problem+json' })
  expect(JSON.parse(answer.body)).toEqual({
    title: expect.any(String) as string,
    status,
    detail: expect.any(String) as string,
    code: expect.stringMatching(/^[A-Z_]+$/) as string,
    message: expect.stringMatching(/\w/) as string,
    retryable: false,
    outcome: 'not-applied',
  })
})

test.each([
  ['the whole address', get('http://localhost/livez')],
  ['HTTP/1.0 without a host', 'GET /livez HTTP/1.0\r\n\r\n'],
  ['a body of a GET', get('/livez', 'Content-Length: 5\r\n').concat('hello')],
  ['another protocol beside it', get('/livez', 'Upgrade: h2c\r\n').replace('close', 'Upgrade, close')],
  ['an expectation that nobody knows', get('/livez', 'Expect: pancakes\r\n')],
])('served: %s', async (_, bytes) => {
  expect(await said(bytes)).toMatchObject({ status: 200, body: 'ok\n' })
})

test('served: a body in chunks, and one that is announced first', async () => {
  expect((await said(put('Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'))).status).toBe(200)
  expect((await said(get('/v1/kv/raw'))).body).toBe('abc')
  expect((await said(put('Content-Length: 3\r\nExpect: 100-continue\r\n', 'def'))).status).toBe(200)
  expect((await said(get('/v1/kv/raw'))).body).toBe('def')
})
