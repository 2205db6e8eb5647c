// Test: sets of locks over HTTP, with a real member in memory.

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { httpMemberOfFile } from './testing/http-member.js'

const http = httpMemberOfFile()

const post = (path: string, body: object, headers?: Record<string, string>) =>
  http.send('POST', `/v1/${path}`, body, headers)
const { poll } = expect
const soon = { interval: 5 }
const waiters = (key: string, count: number) =>
  poll(async () => (await http.member.store.locks.query(key))[0]?.waiters, soon).toBe(count)
const holders = async (prefix: string) =>
  (await http.member.store.locks.query(prefix, { as: 'string' })).map(({ key, id }) => `${key} ${id}`)

test('all of them in one step under one id, asked again the same, renewed and released together', async () => {
  const ask = {
    id: 'set',
    keys: ['s/a', { key: 's/b', mode: 'shared' }, { keyBase64: 'cy//' }],
    lease: '30s',
  }
  const { status, body } = await post('locks:acquireAll', ask)
  expect(status).toBe(200)
  const token = expect.any(Number) as number
  expect(body).toEqual({
    id: 'set',
    locks: [
      { key: 's/a', fencingToken: token },
      { key: 's/b', fencingToken: token },
      { keyBase64: 'cy//', fencingToken: token },
    ],
    remainingMillis: expect.any(Number),
  })
  expect(body.remainingMillis).toBeLessThanOrEqual(30_000)
  expect(body.remainingMillis).toBeGreaterThan(20_000)
  expect((await post('locks:acquireAll', ask)).body.locks).toEqual(body.locks)
  const renewed = await post('locks:renewAll', { id: 'set', locks: body.locks, lease: '60s' })
  expect(renewed).toMatchObject({ status: 200, body: { id: 'set', locks: body.locks } })
  expect(renewed.body.remainingMillis).toBeGreaterThan(40_000)
  // Without a lease it is that of the acquire.
  const again = await post('locks:renewAll', { id: 'set', locks: body.locks })
  expect(again.body.remainingMillis).toBeLessThanOrEqual(60_000)
  const keys = ['s/a', 's/b', { keyBase64: 'cy//' }]
  expect((await post('locks:releaseAll', { id: 'set', keys })).body).toEqual({ id: 'set', released: 3 })
  expect(await holders('s')).toEqual([])
  // A request whose answer was lost is harmless when it is sent again.
  expect((await post('locks:releaseAll', { id: 'set', keys })).body).toEqual({ id: 'set', released: 0 })
  const lost = await post('locks:renewAll', { id: 'set', locks: body.locks })
  expect(lost).toMatchObject({ status: 409, body: { code: 'ERR_LOCK_LOST', key: 's/a' } })
})

test('none of them where one is not free; a wait is granted all at once, and says how much is left', async () => {
  const held = await post('locks/w%2Fb:acquire', { id: 'one', lease: '30s', context: 'in the way' })
  const keys = ['w/a', 'w/b']
  expect(await post('locks:acquireAll', { id: 'two', keys })).toMatchObject({
    status: 409,
    body: { code: 'HELD', id: 'one', context: 'in the way', retryable: true, outcome: 'not-applied' },
  })
  expect(await holders('w/')).toEqual(['w/b one'])
  const began = performance.now()
  const waiting = post('locks:acquireAll', { id: 'three', keys, lease: '20s', wait: '30s' })
  await waiters('w/b', 1)
  expect(await holders('w/')).toEqual(['w/b one'])
  await new Promise((resolve) => setTimeout(resolve, 300))
  await post('locks/w%2Fb:release', { id: 'one', fencingToken: held.body.fencingToken })
  const granted = await waiting
  const took = performance.now() - began
  expect(granted).toMatchObject({ status: 200, body: { locks: [{ key: 'w/a' }, { key: 'w/b' }] } })
  // It counts from the sending, so that the wait is in it, and it never says more than there is.
  expect(granted.body.remainingMillis).toBeGreaterThan(20_000)
  expect(granted.body.remainingMillis).toBeLessThanOrEqual(20_000 + took)
  expect(await holders('w/')).toEqual(['w/a three', 'w/b three'])

  const late = await post('locks:acquireAll', { id: 'four', keys: ['w/c', 'w/a'], wait: '50ms' })
  expect(late).toMatchObject({ status: 409, body: { code: 'HELD', id: 'three', key: 'w/a' } })
  expect(late.body.waitedMillis).toBeGreaterThanOrEqual(45)
  await post('locks:releaseAll', { id: 'three', keys })
  await poll(() => holders('w/'), soon).toEqual([])
})

test('C72: who hangs up while it waits leaves every queue of the set', async () => {
  await post('locks/g%2Fa:acquire', { id: 'one', lease: '30s' })
  const body = JSON.stringify({ id: 'gone', keys: ['g/b', 'g/a'], wait: '60s' })
  const socket = connect(http.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    `POST /v1/locks:acquireAll HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await waiters('g/a', 1)
  socket.destroy()
  await waiters('g/a', 0)
  expect(await holders('g/')).toEqual(['g/a one'])
})

test('a set that has lost a part says so; flows that wait for each other are refused', async () => {
  const keys = ['p/a', 'p/b']
  const { body } = await post('locks:acquireAll', { id: 'part', keys, lease: '30s' })
  const [first] = body.locks as { fencingToken: number }[]
  await post('locks/p%2Fa:forceRelease', { fencingToken: first?.fencingToken })
  expect(await post('locks:acquireAll', { id: 'part', keys })).toMatchObject({
    status: 409,
    body: { code: 'ERR_LOCK_LOST', message: expect.stringContaining('releaseAll') },
  })
  expect((await post('locks:releaseAll', { id: 'part', keys })).body).toEqual({ id: 'part', released: 1 })

  await post('locks/f%2Fa:acquire', { id: 'f1', lease: '30s', flow: 'one' })
  await post('locks/f%2Fb:acquire', { id: 'f2', lease: '30s', flow: 'two' })
  const third = post('locks/f%2Fb:acquire', { id: 'f3', wait: '20s', flow: 'one' })
  await waiters('f/b', 1)
  const circle = await post('locks:acquireAll', { id: 'f4', keys: ['f/a'], wait: '20s', flow: 'two' })
  expect(circle).toMatchObject({ status: 409, body: { code: 'ERR_DEADLOCK' } })
  expect((circle.body.circle as object[]).length).toBe(2)
  await post('locks/f%2Fb:forceRelease', {})
  expect(await third).toMatchObject({ status: 200 })
})

test('an Idempotency-Key is the id; mistakes are named', async () => {
  const key = { 'idempotency-key': 'attempt-7' }
  const answer = await post('locks:acquireAll', { keys: ['i/a'] }, key)
  expect(answer).toMatchObject({ status: 200, body: { id: 'attempt-7' } })
  const wrong: [string, object, RegExp][] = [
    ['acquireAll', { id: 'x' }, /keys must be a list/],
    ['acquireAll', { id: 'x', keys: [] }, /1 to 64/],
    ['acquireAll', { id: 'x', keys: Array.from({ length: 65 }, (_, i) => `k${i}`) }, /1 to 64/],
    ['acquireAll', { id: 'x', keys: ['a', { key: 'a' }] }, /twice/],
    ['acquireAll', { id: 'x', keys: [''] }, /not empty/],
    ['acquireAll', { id: 'x', keys: [7] }, /a text or an object/],
    ['acquireAll', { id: 'x', keys: [{ key: 'a', mod: 'shared' }] }, /did you mean "mode"/],
    ['acquireAll', { id: 'x', keys: [{ key: 'a', mode: 'both' }] }, /mode/],
    ['acquireAll', { keys: ['a'] }, /id/],
    ['renewAll', { id: 'x', locks: [{ key: 'a' }] }, /fencingToken/],
    ['renewAll', { id: 'x', locks: ['a'] }, /fencingToken/],
    ['releaseAll', { id: '', keys: ['a'] }, /id/],
    ['releaseAll', { id: 'x', keys: [{ key: 'a', fencingToken: 1 }] }, /fencingToken/],
  ]
  for (const [verb, body, says] of wrong) {
    const refused = await post(`locks:${verb}`, body)
    expect(refused, JSON.stringify(body)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } })
    expect(refused.body.message).toMatch(says)
  }
  const long = await post('locks:acquireAll', { id: 'x', keys: ['k'.repeat(5_000)] })
  expect(long).toMatchObject({ status: 413, body: { code: 'ERR_TOO_LARGE' } })
})
