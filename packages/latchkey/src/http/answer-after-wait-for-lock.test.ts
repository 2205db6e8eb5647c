// Test: what the HTTP answer says after a caller has waited for a lock and has not got it. The timers of the
// waits run on a manual clock, so the tests choose the moment at which a wait ends.

import type { LockPort } from '@latchkey/lock'
import { type Read, READ } from '@latchkey/protocol'
import { ManualClock } from '@latchkey/raft/memory'
import { expect, test } from 'vitest'
import { httpMemberOfFile } from './testing/http-member.js'

const clock = new ManualClock()
const HOUR = 3_600_000
/** If true, the waiting callers do not hear of grants. */
let isDeaf = false
/** If true, no read of an owner is answered. */
let isMute = false

/** The reads have no timeout, so a slow machine changes no answer. */
const portOf = (lockPort: LockPort): LockPort => {
  const read: LockPort['read'] = (given: Read, options) => {
    if (given[0] === READ.lockOwner && isMute) return Promise.reject(new Error('the read was not answered'))
    return lockPort.read(given, { ...options, timeout: undefined })
  }
  const onGranted: LockPort['onGranted'] = (key, id, run) =>
    lockPort.onGranted(key, id, (owner) => (isDeaf ? undefined : run(owner)))
  return Object.assign(Object.create(lockPort), { clock, read, onGranted }) as LockPort
}

const tokens = [
  { token: 'all', rights: ['read', 'write', 'admin'] as const },
  { token: 'writer', rights: ['write'] as const },
]
const http = httpMemberOfFile({ tokens }, (member) => ({
  actAs: (who) => {
    const by = member.actAs(who)
    return Object.assign(Object.create(by), { lockPort: portOf(by.lockPort) })
  },
}))

const post = (path: string, body: object, token = 'all') =>
  http.send('POST', `/v1/${path}`, body, { authorization: `Bearer ${token}` })
const rowOf = async (key: string) => (await http.member.store.locks.query(key))[0]
const waiters = (key: string, count: number) =>
  expect.poll(async () => (await rowOf(key))?.waiters, { interval: 5, timeout: 60_000 }).toBe(count)
/** Ends every wait. The waiting callers have asked for an hour or a day. */
const endWaits = (millis = HOUR) => clock.advance(millis)

/** A holds the lock. B and C wait. Then A releases the lock, so B holds the lock, and C's wait ends. */
async function handedOn(key: string, start: (id: string, wait: string) => ReturnType<typeof post>) {
  const { body } = await post(`locks/${key}:acquire`, { id: 'A', lease: '1h', context: 'host A' })
  const second = start('B', '24h')
  await waiters(key, 1)
  const third = start('C', '1h')
  await waiters(key, 2)
  await post(`locks/${key}:release`, { id: 'A', fencingToken: body.fencingToken })
  expect(await second).toMatchObject({ status: 200, body: { id: 'B' } })
  endWaits()
  return third
}

test('the answer names the caller that holds the lock when the wait ends', async () => {
  const late = await handedOn('one', (id, wait) =>
    post('locks/one:acquire', { id, wait, lease: '1h', context: `host ${id}` }),
  )
  expect(late).toMatchObject({
    status: 409,
    body: { code: 'HELD', id: 'B', context: 'host B', success: false, waitedMillis: HOUR, retryable: true },
  })
  await waiters('one', 0)
})

test('the same after a wait for a set of locks', async () => {
  const late = await handedOn('of-set', (id, wait) =>
    post('locks:acquireAll', { id, wait, lease: '1h', keys: ['free', 'of-set'] }),
  )
  expect(late).toMatchObject({ status: 409, body: { code: 'HELD', id: 'B', waitedMillis: HOUR } })
})

test('a caller without the right to read gets 409 without the owner', async () => {
  const paths = { 'locks/secret:acquire': {}, 'locks:acquireAll': { keys: ['secret'] } }
  await post('locks/secret:acquire', { id: 'A', lease: '1h', context: 'a secret' })
  for (const [path, more] of Object.entries(paths)) {
    const late = post(path, { id: 'C', wait: '1h', ...more }, 'writer')
    await waiters('secret', 1)
    endWaits()
    expect(await late).toMatchObject({ status: 409, body: { code: 'HELD', waitedMillis: HOUR } })
    expect((await late).body).not.toHaveProperty('id')
    await waiters('secret', 0)
  }
})

test('a read of the owner that fails leaves the owner out, and nothing else', async () => {
  await post('locks/mute:acquire', { id: 'A', lease: '1h' })
  const late = post('locks/mute:acquire', { id: 'C', wait: '1h' })
  await waiters('mute', 1)
  isMute = true
  endWaits()
  const { status, body } = await late
  isMute = false
  expect(status).toBe(409)
  expect(body).toMatchObject({ code: 'HELD', success: false, retryable: true, outcome: 'not-applied' })
  expect(body).not.toHaveProperty('id')
})

test('a lock that was granted when the wait ended is given back, and the answer does not call it held', async () => {
  const { body } = await post('locks/late:acquire', { id: 'A', lease: '1h' })
  const late = post('locks/late:acquire', { id: 'C', wait: '1h', lease: '1h' })
  await waiters('late', 1)
  isDeaf = true
  await post('locks/late:release', { id: 'A', fencingToken: body.fencingToken })
  expect(await rowOf('late')).toMatchObject({ id: 'C' })
  endWaits()
  const { status, body: answer } = await late
  isDeaf = false
  expect([status, answer]).toMatchObject([504, { code: 'ERR_TIMEOUT', key: 'late', waitedMillis: HOUR }])
  await expect.poll(() => rowOf('late'), { interval: 5, timeout: 60_000 }).toBeUndefined()
})
