// Test: two processes use one lock, and the event loop of the holder is blocked for longer than its lease.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { nodeProcess } from '@latchkey/test-chaos/command'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actor } from './actors/index.js'

let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

const lines = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test('K6: a blocked holder knows at its first instruction that it lost, and its guarded write is refused', async () => {
  const end = join(cluster.folder, 'end')
  const blocked = nodeProcess([actor('blocked-holder'), 'job', '3s', end, ...cluster.urls])
  await expect.poll(() => blocked.out).toContain('\n')
  const store = await connect(cluster.urls)
  const next = await store.locks.acquire('job', { lease: '1m', wait: '50s' })
  expect(blocked.out.trim().split('\n')).toHaveLength(1)
  await next.kv.put('account', 'the next one', { timeout: '30s' })
  writeFileSync(end, '')
  const { code, out, err } = await blocked.ended
  expect([code, err]).toEqual([0, ''])
  const [before, after] = lines(out)
  expect(before).toMatchObject({ held: true })
  expect(after).toEqual({
    held: false,
    remaining: 0,
    aborted: true,
    fired: true,
    guarded: 'ERR_FENCED',
    byToken: 'ERR_FENCED',
  })
  expect(next.token).toBeGreaterThan(before?.token as number)
  expect(await store.get('account', { as: 'string' })).toBe('the next one')
  await next.release()
  await store.close()
})
