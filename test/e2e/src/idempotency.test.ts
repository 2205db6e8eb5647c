// Test: a write with an Idempotency-Key on real members happens once, even if it is sent again to another
// member after the first one has died.

import { ask } from '@latchkey/test-chaos/ask'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start({ size: 3 })
})
afterAll(() => cluster.destroy())

const ADD = '/v1/kv/n:increment'
const DOWN = '/v1/latches/l:countDown'
const post = (id: string, path: string, key: string, body?: string) =>
  ask(`${cluster.get(id).http}${path}`, {
    method: 'POST',
    headers: { 'idempotency-key': key },
    timeout: 20_000,
    ...(body !== undefined && { body }),
  })
const answered = async (id: string, key: string, path = ADD, sent?: string) => {
  let body = ''
  await until(`${id} answers`, async () => {
    const answer = await post(id, path, key, sent)
    body = answer?.body ?? ''
    return answer?.status === 200
  })
  return body
}

test('C73: a latch is counted down once, also when the leader has died and another member is asked', async () => {
  await answered('a', 'create', '/v1/latches/l:create', '{"count":3}')
  const leader = await cluster.leader()
  const first = await answered(leader.id, 'down', DOWN)
  expect(JSON.parse(first)).toEqual({ left: 2 })
  await leader.kill()
  const others = ['a', 'b', 'c'].filter((id) => id !== leader.id)
  for (const id of others) expect(await answered(id, 'down', DOWN)).toBe(first)
  leader.start()
  for (const id of ['a', 'b', 'c']) expect(await answered(id, 'down', DOWN)).toBe(first)
  expect(JSON.parse(await answered('b', 'down-again', DOWN))).toEqual({ left: 1 })
})

test('C73: every member gives the first answer again, also when the one that was asked first is dead', async () => {
  const first = await answered('a', 'one')
  for (const id of ['b', 'c', 'a']) expect(await answered(id, 'one')).toBe(first)
  // Nobody knows whether a has applied it when it dies: it is sent and not waited for.
  void post('a', ADD, 'two')
  await cluster.get('a').kill()
  const second = await answered('b', 'two')
  expect(await answered('c', 'two')).toBe(second)
  expect(JSON.parse(second)).toMatchObject({ value: 2 })
  expect(JSON.parse(await answered('c', 'three'))).toMatchObject({ value: 3 })
})
