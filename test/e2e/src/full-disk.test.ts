// Test: the disk of one member is full, which the test simulates by a limit for its files. The member stops,
// and the others continue. When there is space again, the member catches up.

import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'

/**
 * KiB that a file of the full member may have: room for its start, and for no log of ten values of one MiB.
 */
const ROOM = 6_000
const VALUE = Buffer.alloc(1 << 20, 'x')
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

test('D6: the member with the full disk stops, the others go on, and it catches up once there is room', async () => {
  const leader = await cluster.leader()
  const full = cluster.members.find((member) => member !== leader) as typeof leader
  expect(await full.stop()).toBe(0)
  full.start({ shell: `ulimit -f ${ROOM}` })
  await full.ready()
  const store = await connect(cluster.urls)
  for (let i = 0; i < 10; i++) await store.put(`big/${i}`, VALUE, { timeout: '30s' })
  expect(await full.exited()).toBe(1)
  expect(full.output).toMatch(/latchkey: ERR_STORAGE_FAILED/)
  await store.put('while', 'it was down', { timeout: '30s' })
  full.start()
  await full.ready()
  const there = await connect([full.url], { as: 'string' })
  const read = { consistency: 'stale' } as const
  await expect.poll(() => there.get('while', read)).toBe('it was down')
  await expect.poll(async () => (await there.get('big/9', read))?.length).toBe(1 << 20)
  await Promise.all([there.close(), store.close()])
})

test('D6: a cluster of one with a full disk never calls a write done that is not', async () => {
  const alone = await Cluster.start({ size: 1 })
  try {
    const member = alone.get('a')
    await member.stop()
    member.start({ shell: `ulimit -f ${ROOM}` })
    await member.ready()
    const store = await connect(alone.urls)
    const done: string[] = []
    const failed: unknown[] = []
    for (let i = 0; member.running && i < 50; i++) {
      await store.put(`big/${i}`, VALUE, { timeout: '10s' }).then(
        () => done.push(`big/${i}`),
        (error: unknown) => failed.push(error),
      )
    }
    expect(await member.exited()).toBe(1)
    expect(failed[0]).toMatchObject({ outcome: 'unknown' })
    member.start()
    await member.ready()
    expect(done.length).toBeGreaterThan(0)
    for (const key of done) expect(await store.containsKey(key), key).toBe(true)
    await store.close()
  } finally {
    await alone.destroy()
  }
})
