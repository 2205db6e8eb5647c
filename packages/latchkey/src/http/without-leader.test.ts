// Test: the answers over HTTP while there is no leader.

import { LatchkeyError } from '@latchkey/protocol'
import { afterEach, expect, test } from 'vitest'
import type { CallerStore } from './http-route-dependencies.js'
import { type HttpMember, httpMember } from './testing/http-member.js'

let ready = true
const opened: HttpMember[] = []
afterEach(async () => {
  for (const http of opened.splice(0)) await http.close()
})

/** Serves HTTP over the stores of a member, which `change` has changed, and returns the address. */
async function addressWith(change: (by: CallerStore) => object): Promise<string> {
  const http = await httpMember(undefined, (member) => ({
    actAs: (who) => {
      const by = member.actAs(who)
      return Object.assign(Object.create(by), change(by))
    },
    isReady: () => ready,
    whyNotReady: () => 'Nobody leads: member a does not reach b.',
  }))
  opened.push(http)
  return http.url
}

test('a wait for a lock that ends while nobody leads is 503, and not the Owner of before', async () => {
  const leaderless = new LatchkeyError('ERR_NO_LEADER', 'Nobody leads.', { missing: ['b'], leader: 'b' })
  const at = await addressWith(({ lockPort }) => ({
    lockPort: Object.assign(Object.create(lockPort), { noLeader: () => leaderless }),
  }))
  const acquire = (body: object) =>
    fetch(`${at}/v1/locks/l:acquire`, { method: 'POST', body: JSON.stringify(body) })
  expect((await acquire({ id: 'one', lease: '30s' })).status).toBe(200)
  const response = await acquire({ id: 'two', wait: '50ms' })
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await response.json()).toEqual({
    title: 'Service Unavailable',
    status: 503,
    detail: 'Nobody leads.',
    code: 'ERR_NO_LEADER',
    message: 'Nobody leads.',
    retryable: true,
    outcome: 'not-applied',
    key: 'l',
    missing: ['b'],
    leader: 'b',
    waitedMillis: expect.any(Number),
  })
})

test('a read that nobody confirms for want of a leader is 503, with a time to try again', async () => {
  ready = false
  const error = new LatchkeyError('ERR_TIMEOUT', undefined, { missing: ['b'], leader: 'c' })
  const at = await addressWith(() => ({ getEntry: () => Promise.reject(error) }))
  const response = await fetch(`${at}/v1/kv/a`)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await response.json()).toMatchObject({
    code: 'ERR_NO_LEADER',
    message: expect.stringContaining('Nobody leads: member a does not reach b.'),
    retryable: true,
    outcome: 'not-applied',
    missing: ['b'],
    leader: 'c',
  })
  ready = true
  expect((await fetch(`${at}/v1/kv/a`)).status).toBe(504)
})
