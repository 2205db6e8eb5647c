// Test: the pure parts of the HTTP doors: paths and keys, who may come in, what an error becomes, what a holder is promised.

import { ERROR_CODES, LatchkeyError } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { errorReply } from './errors.js'
import { refuseOrigin, rightFor } from './request-guards.js'
import { promisedMillis } from './owner-json.js'
import { keyOf, routeOf } from './routes.js'

const bytes = (text: string) => Uint8Array.from(Buffer.from(text))

describe('paths', () => {
  test.each([
    ['/livez', 'GET', { name: 'livez' }],
    ['/v1/kv/a%2Fb', 'PUT', { name: 'kv', key: bytes('a/b') }],
    ['/v1/kv/%ff', 'GET', { name: 'kv', key: Uint8Array.of(0xff) }],
    ['/v1/kv/a+b', 'GET', { name: 'kv', key: bytes('a+b') }],
    ['/v1/kv/..', 'GET', { name: 'kv', key: bytes('..') }],
    ['/v1/locks/orders%2F42', 'GET', { name: 'lock', key: bytes('orders/42'), verb: undefined }],
    ['/v1/locks/orders%2F42:acquire', 'POST', { name: 'lock', key: bytes('orders/42'), verb: 'acquire' }],
    ['/v1/locks/a:renew:release', 'POST', { name: 'lock', key: bytes('a:renew'), verb: 'release' }],
    ['/v1/locks/a:renew', 'GET', { name: 'lock', key: bytes('a:renew'), verb: undefined }],
    ['/v1/locks/a%3Aacquire', 'POST', { name: 'lock', key: bytes('a:acquire'), verb: undefined }],
  ])('%s by %s', (path, method, route) => {
    expect(routeOf(path, method)).toEqual(route)
  })

  test.each(['/', '/v1', '/v1/kv', '/v2/kv/a', '/constructor', '/livez/'])('%s is nothing', (path) => {
    expect(routeOf(path, 'GET')).toBeUndefined()
  })

  test.each(['', 'a/b', '%', '%2', '%zz'])('%j is no key', (encoded) => {
    expect(() => keyOf(encoded)).toThrow(TypeError)
  })
})

describe('guards', () => {
  test('probes need no right, reads the right to read, all else the right to write', () => {
    expect(rightFor({ name: 'livez' }, 'GET')).toBeUndefined()
    expect(rightFor({ name: 'readyz' }, 'GET')).toBeUndefined()
    expect(rightFor({ name: 'metrics' }, 'GET')).toBe('read')
    expect(rightFor({ name: 'kv', key: bytes('a') }, 'HEAD')).toBe('read')
    expect(rightFor({ name: 'kv', key: bytes('a') }, 'DELETE')).toBe('write')
    expect(rightFor({ name: 'lock', key: bytes('a'), verb: 'release' }, 'POST')).toBe('write')
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
