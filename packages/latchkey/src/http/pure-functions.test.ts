// Test: the pure functions of HTTP: paths and keys, which callers may enter, how an error becomes an answer,
// and the remaining time that a holder gets.

import { ERROR_CODES, LatchkeyError } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { errorReply } from './http-status-of-errors.js'
import { isOwnPage, refuseOrigin } from './check-identity-origin-and-host.js'
import { ROUTE_IDS, routeAt } from './route-table.js'
import { promisedMillis } from './owner-json.js'
import { keyOf, nearestPath, placeOf } from './route-of-path.js'
import { valueJson } from './values-json.js'

const bytes = (text: string) => Uint8Array.from(Buffer.from(text))

describe('paths', () => {
  test.each([
    ['/livez', 'GET', 'livez', ''],
    ['/v1/kv/a%2Fb', 'PUT', 'putKey', 'a/b'],
    ['/v1/kv/a+b', 'GET', 'getKey', 'a+b'],
    ['/v1/kv/..', 'HEAD', 'getKey', '..'],
    ['/v1/kv', 'GET', 'listKeys', ''],
    ['/v1/locks/orders%2F42', 'GET', 'getLock', 'orders/42'],
    ['/v1/locks/orders%2F42:acquire', 'POST', 'acquireLock', 'orders/42'],
    ['/v1/locks/a:renew:release', 'POST', 'releaseLock', 'a:renew'],
    ['/v1/locks/a:renew', 'GET', 'getLock', 'a:renew'],
    ['/v1/locks/a:watch', 'GET', 'watchLock', 'a'],
    ['/v1/locks/a%3Awatch', 'GET', 'getLock', 'a:watch'],
    ['/v1/kv/a:increment', 'PUT', 'putKey', 'a:increment'],
    ['/v1/elections/a:resign', 'POST', 'resign', 'a'],
    ['/v1/locks/a%3Aacquire', 'POST', undefined, 'a:acquire'],
    ['/v1/semaphores/a', 'GET', undefined, 'a'],
  ])('%s by %s', (path, method, route, key) => {
    const place = placeOf(path, method)
    expect([place?.routes[method], place?.key]).toEqual([route, bytes(key)])
  })

  test('a key is bytes', () => {
    expect(placeOf('/v1/kv/%ff', 'GET')?.key).toEqual(Uint8Array.of(0xff))
  })

  test.each(['/v1', '/v2/kv/a', '/constructor', '/livez/'])('%s is nothing', (path) => {
    expect(placeOf(path, 'GET')).toBeUndefined()
  })

  test.each([
    ['/v1/lock/a', '/v1/locks'],
    ['/v1/tnx', '/v1/txn'],
    ['/statsu', '/status'],
  ])('%s: the nearest is %s', (path, near) => {
    expect(nearestPath(path)).toContain(near)
  })

  test.each(['', 'a/b', '%', '%2', '%zz'])('%j is no key', (encoded) => {
    expect(() => keyOf(encoded)).toThrow(TypeError)
  })
})

describe('guards', () => {
  test('probes and the page need no right, and every other route one', () => {
    const open = ROUTE_IDS.filter((id) => routeAt(id).right === undefined)
    expect(open).toEqual(['page', 'pageFile', 'livez', 'readyz'])
    const changing = ROUTE_IDS.filter((id) => routeAt(id).method !== 'GET' && routeAt(id).right !== 'write')
    expect(changing).toEqual(['transferLeadership', 'endSession', 'getMany'])
  })

  const loopback = { origins: new Set(['https://ok.example']), hosts: new Set(['sidecar']) }
  test.each([
    [undefined, '127.0.0.1:7001', true],
    [undefined, '[::1]:7001', true],
    [undefined, 'localhost', true],
    [undefined, 'sidecar:7001', true],
    [undefined, undefined, true],
    [undefined, 'attacker.example:7001', false],
    ['https://ok.example', 'localhost:7001', true],
    ['https://attacker.example', 'localhost:7001', false],
    ['null', 'localhost:7001', false],
  ])('a page of %s that calls %s: %s', (origin, host, may) => {
    expect(refuseOrigin(loopback, origin, host) === null).toBe(may)
  })

  test.each([
    ['http://127.0.0.1:7001', '127.0.0.1:7001', undefined, true],
    ['https://sidecar:7001', 'Sidecar:7001', 'same-origin', true],
    ['http://127.0.0.1:7002', '127.0.0.1:7001', undefined, false],
    ['http://sidecar:7001', 'sidecar:7001', 'cross-site', false],
    ['null', '127.0.0.1:7001', undefined, false],
    [undefined, '127.0.0.1:7001', undefined, false],
  ])('a page of %s that asks %s, site %s, is our own page: %s', (origin, host, site, own) => {
    expect(isOwnPage({ origin, host, ...(site !== undefined && { 'sec-fetch-site': site }) })).toBe(own)
  })

  test('beyond loopback any name leads here', () => {
    expect(refuseOrigin({ origins: new Set(), hosts: undefined }, undefined, 'sidecar.example')).toBeNull()
  })
})

describe('errors', () => {
  test('each code has a status and the one body', () => {
    for (const code of ERROR_CODES) {
      const { status, body } = errorReply(new LatchkeyError(code))
      expect(status, code).toBeGreaterThanOrEqual(401)
      expect(body).toEqual({
        code,
        message: expect.any(String),
        retryable: expect.any(Boolean),
        outcome: expect.any(String),
      })
    }
  })

  test('the body has the fields of the error under their names; what is no text is in base64', () => {
    const holder = { id: 'h', context: undefined, fencingToken: 8, remainingMillis: 5, sinceMillis: 6 }
    const options = {
      token: 7,
      waitedMillis: 9,
      leader: 'a',
      missing: ['b'],
      revision: 4,
      clusters: { one: ['ws://127.0.0.1:1'] },
    }
    const bodyOf = (more: object) =>
      errorReply(new LatchkeyError('ERR_FENCED', 'No.', { ...options, ...more })).body
    const all = { code: 'ERR_FENCED', message: 'No.', retryable: false, outcome: 'not-applied', ...options }
    const { context: _, ...bare } = holder
    expect(bodyOf({ key: bytes('jobs/ü'), holder })).toEqual({ ...all, key: 'jobs/ü', holder: bare })
    expect(bodyOf({ key: 'k', holder: { ...holder, context: 'c' } })).toMatchObject({
      key: 'k',
      holder: { context: 'c' },
    })
    const binary = { key: Uint8Array.of(255), holder: { ...holder, context: Uint8Array.of(1) } }
    expect(bodyOf(binary)).toEqual({ ...all, keyBase64: '/w==', holder: { ...bare, contextBase64: 'AQ==' } })
  })

  test.each([
    ['ERR_NO_LEADER', 503],
    ['ERR_BUSY', 429],
    ['ERR_TIMEOUT', 504],
    ['ERR_OUTCOME_UNKNOWN', 504],
    ['ERR_TOO_LARGE', 413],
    ['ERR_UNAUTHORIZED', 401],
    ['ERR_FORBIDDEN', 403],
    ['ERR_NOT_OWNER', 409],
    ['ERR_LOCK_LOST', 409],
    ['ERR_FENCED', 409],
  ] as const)('%s is %d', (code, status) => {
    expect(errorReply(new LatchkeyError(code)).status).toBe(status)
  })

  test('who is to wait is told how long', () => {
    expect(errorReply(new LatchkeyError('ERR_NO_LEADER')).headers).toEqual({ 'retry-after': '1' })
    expect(errorReply(new LatchkeyError('ERR_BUSY')).headers).toEqual({ 'retry-after': '1' })
  })

  test('a mistake is 400, and a fault of ours says nothing of its inside', () => {
    expect(errorReply(new TypeError('lease must be…')).body).toMatchObject({ message: 'lease must be…' })
    expect(errorReply(new Error('at /secret')).status).toBe(500)
    expect(JSON.stringify(errorReply(new Error('at /secret')))).not.toContain('secret')
  })
})

test('K4: what is left of a lease counts from the sending, on the slowest clock', () => {
  expect(promisedMillis(20_000, 10_000, 1.005 / 0.995)).toBe(9_900)
  expect(promisedMillis(10_000, 20_000, 1)).toBe(0)
})

test.each([
  ['{"a":[1]}', { json: { a: [1] } }],
  ['no JSON', { base64: Buffer.from('no JSON').toString('base64') }],
])('a value is sent as JSON if it is JSON, otherwise in base64: %s', (text, sent) => {
  expect(valueJson(bytes(text), 'json')).toEqual(sent)
})

test('a value of JSON that is too deep to be written again is sent in base64', () => {
  const depth = 200_000
  const deep = bytes('['.repeat(depth) + ']'.repeat(depth))
  expect(Object.keys(valueJson(deep, 'json'))).toEqual(['base64'])
})
