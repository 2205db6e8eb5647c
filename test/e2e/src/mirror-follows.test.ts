// Test: mirrors and watches of locks of a client, while processes of members are killed, and while events are
// lost from the history.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: Cluster
const as = { as: 'string' } as const

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('C62, K60: the leader is killed twice while a mirror follows and a lock is watched', async () => {
  await using reader = await connect(cluster.urls)
  await using writer = await connect(cluster.urls)
  await using mirror = await reader.mirror({ prefix: 'm/' }, as)
  const faults: string[] = []
  let revision = 0
  mirror.on('change', () => {
    // These two are only ever written together.
    if (mirror.get('m/left') !== mirror.get('m/right')) faults.push(`half of revision ${mirror.revision}`)
    if (mirror.revision < revision) faults.push(`${mirror.revision} after ${revision}`)
    revision = mirror.revision
  })
  const lockEvents: string[] = []
  const watching = (async () => {
    for await (const { type, fencingToken } of reader.locks.watch('w'))
      lockEvents.push(`${type} ${fencingToken}`)
  })()
  const expected: string[] = []
  let last = 0
  const work = async (rounds: number) => {
    for (let n = 0; n < rounds; n++) {
      const entries = ['m/left', 'm/right', `m/${n % 17}`].map((key) => ({ key, value: `${last}/${n}` }))
      last = (await writer.putAll(entries, { timeout: '30s' })).revision
      const hold = await writer.locks.acquire('w', { lease: '30s' })
      expected.push(`acquired ${hold.token}`, `released ${hold.token}`)
      await hold.release()
    }
  }
  for (let kills = 0; kills < 2; kills++) {
    await work(20)
    const dead = await cluster.leader()
    await dead.kill()
    await work(20)
    dead.start()
    await dead.ready()
  }
  await until('the mirror has heard of the last write', () => mirror.revision >= last)
  const rows = await writer.scan({ prefix: 'm/' }, as)
  expect(faults).toEqual([])
  expect([...mirror].toSorted()).toEqual(rows.map(({ key, value }) => [key, value] as unknown[]).toSorted())
  await until('the watch has heard of the last release', () => lockEvents.length >= expected.length)
  expect(lockEvents).toEqual(expected)
  await reader.close()
  await watching.catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_CLOSED' }))
  expect([mirror.closed, mirror.error?.code]).toEqual([true, 'ERR_CLOSED'])
})

test('C61: the history is compacted while a reader is away: it begins again with a reset', async () => {
  await using store = await connect(cluster.urls)
  const watch = store.watch({ prefix: 'r/' }, { ...as, initial: true, resync: true })
  await store.put('r/0', 'first')
  const next = async () => {
    const result = await watch.next()
    if (result.done === true) throw new Error('the watch ended')
    return result.value
  }
  while ((await next()).type !== 'synced');
  for (let n = 0; n < 3; n++)
    await store.putAll(Array.from({ length: 1_000 }, (_, key) => [`r/${key}`, `${n}`] as const))
  const large = new Uint8Array(1024 * 1024)
  for (let n = 0; n < 36; n++) await store.put('large', large, { timeout: '30s' })
  await store.put('r/after', 'after')
  const state = new Map<unknown, unknown>()
  let wasReset = false
  for (;;) {
    const event = await next()
    if (event.type === 'reset') {
      wasReset = true
      state.clear()
    } else if (event.type === 'put') state.set(event.key, event.value)
    else if (event.type === 'synced' && wasReset) break
  }
  const rows = await store.scan({ prefix: 'r/' }, as)
  expect([...state]).toEqual(rows.map(({ key, value }) => [key, value]))
  await watch.return?.()
})
