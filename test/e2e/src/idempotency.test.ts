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

const add = (id: string, key: string) =>
  ask(`${cluster.get(id).http}/v1/kv/n:increment`, {
    method: 'POST',
    headers: { 'idempotency-key': key },
    timeout: 20_000,
  })
const answered = async (id: string, key: string) => {
  let body = ''
  await until(`${id} answers`, async () => {
    const answer = await add(id, key)
    body = answer?.body ?? ''
    return answer?.status === 200
  })
  return body
}

test('C73: every member gives the first answer again, also when the one that was asked first is dead', async () => {
  const first = await answered('a', 'one')
  for (const id of ['b', 'c', 'a']) expect(await answered(id, 'one')).toBe(first)
  // Nobody knows whether a has applied it when it dies: it is sent and not waited for.
  void add('a', 'two')
  await cluster.get('a').kill()
  const second = await answered('b', 'two')
  expect(await answered('c', 'two')).toBe(second)
  expect(JSON.parse(second)).toMatchObject({ value: 2 })
  expect(JSON.parse(await answered('c', 'three'))).toMatchObject({ value: 3 })
})
