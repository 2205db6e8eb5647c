// Test: a repeated write with the same Idempotency-Key happens once and gets the same answer.

import { expect, test } from 'vitest'
import { httpMemberOfFile } from './testing/http-member.js'

const http = httpMemberOfFile({
  tokens: [
    { token: 'all', rights: ['read', 'write', 'admin'] },
    { token: 'writer', rights: ['write'] },
    { token: 'limited', rights: ['read', 'write'], keys: ['mine/'], locks: ['mine/'] },
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

test('C73: where a repeat would do more than the first request, the header is refused and nothing is done', async () => {
  const { store } = http.member
  await store.latches.create('counted', 2)
  const hold = await store.locks.acquire('forced')
  const counted = await sent('POST', '/v1/latches/counted:countDown', as('all', 'c1'))
  expect([counted.status, JSON.parse(counted.text)]).toMatchObject([400, { code: 'BAD_REQUEST' }])
  expect(await store.latches.query('counted')).toMatchObject([{ count: 2 }])
  const forced = await sent('POST', '/v1/locks/forced:forceRelease', as('all', 'c2'))
  expect([forced.status, forced.text]).toMatchObject([400, expect.stringContaining('fencingToken')])
  expect(await store.locks.query('forced')).toHaveLength(1)
  const body = JSON.stringify({ fencingToken: hold.token })
  const [first, again] = await twice('POST', '/v1/locks/forced:forceRelease', as('all', 'c3'), body)
  expect([first.text, again.text].map((text) => JSON.parse(text) as object)).toEqual([
    { released: 1 },
    { released: 0 },
  ])
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
