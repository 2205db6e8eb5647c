// Test: a repeated write with the same Idempotency-Key happens once and gets the same answer.

import { expect, test } from 'vitest'
import { httpMemberOfFile } from './testing/http-member.js'

const http = httpMemberOfFile({
  tokens: [
    { token: 'all', rights: ['read', 'write', 'admin'] },
    { token: 'writer', rights: ['write'] },
    { token: 'limited', rights: ['read', 'write'], keys: ['mine/'], locks: ['mine/'] },
    { token: 'no-keys', rights: ['write'], keys: [], locks: ['mine/'] },
  ],
})

const as = (token: string, key: string, more: Record<string, string> = {}) => ({
  authorization: `Bearer ${token}`,
  'idempotency-key': key,
  ...more,
})
const sent = async (method: string, path: string, headers: Record<string, string>, body?: string) => {
  const answer = await http.call(path, { method, headers, ...(body === undefined ? {} : { body }) })
  return { status: answer.status, etag: answer.headers.get('etag'), text: await answer.text() }
}
const twice = async (...of: Parameters<typeof sent>) => [await sent(...of), await sent(...of)] as const

test('C73: an increment, a put, a delete, a batch and a txn: the second time the same answer, and nothing happens', async () => {
  const { store } = http.member
  const [first, again] = await twice('POST', '/v1/kv/n:increment', as('all', 'k1'), '{"by":5}')
  expect([first.status, JSON.parse(first.text)]).toMatchObject([200, { value: 5 }])
  expect(again).toEqual(first)
  expect(await store.get('n', { as: 'string' })).toBe('5')

  const [put, putAgain] = await twice('PUT', '/v1/kv/p', as('all', 'k2'), 'one')
  await store.put('p', 'two')
  expect([put.status, putAgain]).toEqual([200, put])
  expect(await sent('PUT', '/v1/kv/p', as('all', 'k2'), 'one')).toEqual(put)
  expect(await store.get('p', { as: 'string' })).toBe('two')

  const [gone, goneAgain] = await twice('DELETE', '/v1/kv/p', as('all', 'k3'))
  expect([gone.status, goneAgain.status]).toEqual([204, 204])
  expect((await sent('DELETE', '/v1/kv/p', as('all', 'k4'))).status).toBe(404)

  const ops = '{"ops":[{"type":"increment","key":"n"},{"type":"put","key":"q","value":{"text":"x"}}]}'
  const [batch, batchAgain] = await twice('POST', '/v1/batch', as('all', 'k5'), ops)
  expect(batchAgain).toEqual(batch)
  expect(JSON.parse(batch.text)).toEqual({ revision: expect.any(Number) as number, results: [6, true] })
  const txn = '{"then":[{"type":"increment","key":"n"},{"type":"get","key":"q"}]}'
  const [done, doneAgain] = await twice('POST', '/v1/txn', as('all', 'k6'), txn)
  expect(doneAgain).toEqual(done)
  expect(JSON.parse(done.text)).toMatchObject({ succeeded: true, results: [7, { value: { text: 'x' } }] })
  expect(await store.get('n', { as: 'string' })).toBe('7')
})

const count = async (name: string) => (await http.member.store.latches.query(name))[0]?.count
const mismatch = [409, expect.stringContaining('ERR_MISMATCH')]

test('C73: a latch is counted down, created and removed once, whatever happens between the requests', async () => {
  const { store } = http.member
  await store.latches.create('counted', 2)
  const down = ['POST', '/v1/latches/counted:countDown', as('all', 'd1')] as const
  const [first, again] = await twice(...down)
  expect([first.status, JSON.parse(first.text)]).toEqual([200, { left: 1 }])
  expect([again, await count('counted')]).toEqual([first, 1])
  const other = await sent(...down, '{"by":2}')
  expect([other.status, other.text]).toEqual(mismatch)
  const elsewhere = await sent('POST', '/v1/latches/another:countDown', as('all', 'd1'))
  expect([elsewhere.status, elsewhere.text]).toEqual(mismatch)
  expect(await count('counted')).toBe(1)
  // A txn with this key is another request, too.
  const txn = await sent('POST', '/v1/txn', as('all', 'd1'), '{"then":[{"type":"increment","key":"of-d1"}]}')
  expect([txn.status, txn.text, await store.get('of-d1')]).toEqual([...mismatch, undefined])

  const create = ['POST', '/v1/latches/made:create', as('all', 'd2'), '{"count":3}'] as const
  const made = await sent(...create)
  expect([made.status, JSON.parse(made.text)]).toEqual([200, { created: true }])
  const remove = ['DELETE', '/v1/latches/made', as('all', 'd3')] as const
  expect((await sent(...remove)).status).toBe(204)
  expect([await sent(...create), await count('made')]).toEqual([made, undefined])
  await store.latches.create('made', 1)
  expect([(await sent(...remove)).status, await count('made')]).toEqual([204, 1])
})

test('C73: requests at the same time count a latch down once', async () => {
  await http.member.store.latches.create('at-once', 20)
  const all = await Promise.all(
    Array.from({ length: 10 }, () => sent('POST', '/v1/latches/at-once:countDown', as('all', 'd4'))),
  )
  expect(new Set(all.map(({ text }) => text))).toEqual(new Set(['{"left":19}\n']))
  expect(await count('at-once')).toBe(19)
})

test('C73: a request to a latch that is missing keeps no answer', async () => {
  const down = ['POST', '/v1/latches/late:countDown', as('all', 'd5')] as const
  const missing = await sent(...down)
  expect([missing.status, JSON.parse(missing.text)]).toMatchObject([409, { code: 'ERR_MISMATCH' }])
  await http.member.store.latches.create('late', 2)
  expect(JSON.parse((await sent(...down)).text)).toEqual({ left: 1 })
})

test('C73: a block of numbers, a reset, a touch and a resize happen once', async () => {
  const { store } = http.member
  const [block, sameBlock] = await twice(
    'POST',
    '/v1/sequences/s:next',
    as('all', 's1'),
    JSON.stringify({ step: 5 }),
  )
  expect([block.status, JSON.parse(block.text)]).toEqual([200, { start: 0, end: 5 }])
  expect([sameBlock, await store.getLatestSequence('s')]).toEqual([block, 5])
  const reset = ['DELETE', '/v1/sequences/s', as('all', 's2')] as const
  expect((await sent(...reset)).status).toBe(204)
  await store.getSequence('s', 9)
  expect([(await sent(...reset)).status, await store.getLatestSequence('s')]).toEqual([204, 9])

  const touch = ['POST', '/v1/kv/touched:touch', as('all', 's3'), '{"ttl":"1h"}'] as const
  await store.put('touched', 'v')
  expect((await sent(...touch)).status).toBe(204)
  await store.touch('touched', '9h')
  expect((await sent(...touch)).status).toBe(204)
  expect((await store.getEntry('touched'))?.remainingMillis).toBeGreaterThan(2 * 3_600_000)
  const longer = await sent('POST', '/v1/kv/touched:touch', as('all', 's3'), '{"ttl":"2h"}')
  expect([longer.status, longer.text]).toEqual(mismatch)

  const resize = ['POST', '/v1/semaphores/p:resize', as('all', 's4'), '{"of":2}'] as const
  expect((await sent(...resize)).status).toBe(204)
  await store.semaphores.resize('p', 3)
  expect((await sent(...resize)).status).toBe(204)
  await (await store.semaphores.acquire('p', { of: 3 })).release()
  const larger = await sent('POST', '/v1/semaphores/p:resize', as('all', 's4'), '{"of":4}')
  expect([larger.status, larger.text]).toEqual(mismatch)
})

test('C76: a repeated rotate has the new token of the hold, and fails after the hold has ended', async () => {
  const send = (verb: string, body: object, key: string) =>
    sent('POST', `/v1/locks/turned:${verb}`, as('all', key), JSON.stringify(body))
  const acquired = JSON.parse((await send('acquire', { id: 'me', lease: '1h' }, 't0')).text) as object
  const old = (acquired as { fencingToken: number }).fencingToken
  const hold = { id: 'me', fencingToken: old }
  const [first, again] = [await send('rotate', hold, 't1'), await send('rotate', hold, 't1')].map(
    ({ text }) => JSON.parse(text) as { fencingToken: number },
  )
  expect(first?.fencingToken).toBeGreaterThan(old)
  expect(again?.fencingToken).toBe(first?.fencingToken)
  const other = await send('rotate', { ...hold, fencingToken: first?.fencingToken }, 't1')
  expect([other.status, other.text]).toEqual(mismatch)
  expect((await send('downgrade', hold, 't2')).status).toBe(200)
  expect((await send('release', { id: 'me', fencingToken: first?.fencingToken }, 't3')).status).toBe(200)
  for (const [verb, key] of [
    ['rotate', 't1'],
    ['downgrade', 't2'],
  ] as const)
    expect((await send(verb, hold, key)).status).toBe(409)
})

test('C73: a repeated proclaim does not bring back an earlier value', async () => {
  const send = (verb: string, body: object, key: string) =>
    sent('POST', `/v1/elections/said:${verb}`, as('all', key), JSON.stringify(body))
  const { text } = await send('campaign', { id: 'me', lease: '1h', value: { text: 'zero' } }, 'p0')
  const hold = { id: 'me', fencingToken: (JSON.parse(text) as { fencingToken: number }).fencingToken }
  const one = { ...hold, value: { text: 'one' } }
  expect((await send('proclaim', one, 'p1')).status).toBe(200)
  expect((await send('proclaim', { ...hold, value: { text: 'two' } }, 'p2')).status).toBe(200)
  expect((await send('proclaim', one, 'p1')).status).toBe(200)
  expect((await http.member.store.elections.leader('said'))?.value).toEqual(
    new Uint8Array(Buffer.from('two')),
  )
})

test('C73: where a repeat would do more than the first request, the header is refused and nothing is done', async () => {
  const { store } = http.member
  const hold = await store.locks.acquire('forced')
  const forced = await sent('POST', '/v1/locks/forced:forceRelease', as('all', 'c2'))
  expect([forced.status, forced.text]).toMatchObject([400, expect.stringContaining('fencingToken')])
  expect(await store.locks.query('forced')).toHaveLength(1)
  const body = JSON.stringify({ fencingToken: hold.token })
  const [first, again] = await twice('POST', '/v1/locks/forced:forceRelease', as('all', 'c3'), body)
  expect([first.text, again.text].map((text) => JSON.parse(text) as object)).toEqual([
    { released: 1 },
    { released: 0 },
  ])
  const entered = await sent('POST', '/v1/barriers/b:enter', as('all', 'c4'), '{"parties":1}')
  expect([entered.status, entered.text]).toEqual([400, expect.stringContaining('count down a latch')])
})

test('C73: a condition that was not true stays so for that key', async () => {
  const match = { 'if-none-match': '*' }
  await http.member.store.put('there', 'v')
  const first = await sent('PUT', '/v1/kv/there', as('all', 'c1', match), 'w')
  await http.member.store.delete('there')
  expect([first.status, (await sent('PUT', '/v1/kv/there', as('all', 'c1', match), 'w')).status]).toEqual([
    412, 412,
  ])
  expect((await sent('PUT', '/v1/kv/there', as('all', 'c2', match), 'w')).status).toBe(200)
})

test('C73: at the same time: one of them writes, and all have its answer', async () => {
  const all = await Promise.all(
    Array.from({ length: 10 }, () => sent('POST', '/v1/kv/race:increment', as('all', 'r1'))),
  )
  expect(new Set(all.map(({ text }) => text)).size).toBe(1)
  expect(await http.member.store.get('race', { as: 'string' })).toBe('1')
})

test('another request under the same key is refused, and changes nothing', async () => {
  await sent('PUT', '/v1/kv/x', as('all', 'm1'), 'one')
  const other = await sent('PUT', '/v1/kv/x', as('all', 'm1'), 'two')
  expect([other.status, JSON.parse(other.text)]).toMatchObject([409, { code: 'ERR_MISMATCH' }])
  expect(await http.member.store.get('x', { as: 'string' })).toBe('one')
})

test('a failed write keeps no answer: the same key may be used again', async () => {
  await http.member.store.put('text', 'seven')
  const failed = await sent('POST', '/v1/kv/text:increment', as('all', 'f1'))
  expect([failed.status, JSON.parse(failed.text)]).toMatchObject([409, { code: 'ERR_NOT_A_NUMBER' }])
  await http.member.store.put('text', '7')
  expect((await sent('POST', '/v1/kv/text:increment', as('all', 'f1'))).status).toBe(200)
})

test('rights are those of the write; limited callers keep their answers below their own prefix', async () => {
  expect((await sent('PUT', '/v1/kv/w', as('writer', 'w1'), 'v')).status).toBe(200)
  expect((await sent('POST', '/v1/kv/w2:increment', as('writer', 'w2'))).status).toBe(403)
  const [mine, again] = await twice('PUT', '/v1/kv/mine%2Fa', as('limited', 'l1'), 'v')
  expect([mine.status, again]).toEqual([200, mine])
  expect((await sent('PUT', '/v1/kv/yours', as('limited', 'l2'), 'v')).status).toBe(403)
  const kept = await http.member.store.getEntry('mine/latchkey/idempotency/l1')
  expect(kept?.remainingMillis).toBeGreaterThan(23 * 3_600_000)
  expect(kept?.remainingMillis).toBeLessThanOrEqual(24 * 3_600_000)
  const latch = (name: string, token: string, key: string) =>
    sent('POST', `/v1/latches/${encodeURIComponent(name)}:create`, as(token, key), '{"count":3}')
  expect((await latch('mine/l', 'limited', 'l3')).status).toBe(200)
  expect(await http.member.store.containsKey('mine/latchkey/idempotency/l3')).toBe(true)
  expect((await latch('yours', 'limited', 'l4')).status).toBe(403)
  expect((await latch('of-writer', 'writer', 'w3')).status).toBe(200)
  const none = await latch('mine/m', 'no-keys', 'n1')
  expect([none.status, none.text]).toEqual([403, expect.stringContaining('give the credentials a prefix')])
})

test('C73: a guarded write is still answered when its hold is over', async () => {
  const hold = await http.member.store.locks.acquire('g')
  const guard = { 'latchkey-guard': `g;${hold.token}` }
  const first = await sent('PUT', '/v1/kv/guarded', as('all', 'g1', guard), 'v')
  await hold.release()
  expect([first.status, await sent('PUT', '/v1/kv/guarded', as('all', 'g1', guard), 'v')]).toEqual([
    200,
    first,
  ])
  expect((await sent('PUT', '/v1/kv/guarded', as('all', 'g2', guard), 'v')).status).toBe(409)
})

test('a wrong key says what is right', async () => {
  for (const key of ['a b', 'x'.repeat(256)]) {
    const wrong = await sent('PUT', '/v1/kv/y', as('all', key), 'v')
    expect([wrong.status, wrong.text]).toEqual([
      400,
      expect.stringContaining('1 to 255 printable characters'),
    ])
  }
})
