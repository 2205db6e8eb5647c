// Test: the suite of lock engines passes on a real Redis server, and kills and restarts it where needed.

import { engineSuite, locks, type SuiteClient } from '@latchkey/locks'
import { afterAll, describe, expect, test } from 'vitest'
import { redisLocks } from './index.js'
import { startServer } from './testing/servers.js'

const server = await startServer()
afterAll(() => server[Symbol.asyncDispose]())

const restart = async () => {
  await server.kill()
  await server.start()
}

describe('one Redis that writes everything to its disk', () => {
  engineSuite(test, async ({ poll, patience }): Promise<SuiteClient> => {
    const engine = redisLocks({ client: server.client, survives: 'restart', poll, patience })
    return { ...(engine as unknown as SuiteClient), restart }
  })
})

test('locks() opens an address, and ends its clients', async () => {
  await using engine = await locks(server.url, { prefix: 'by-address:', as: 'string' })
  await using hold = await engine.locks.acquire('k')
  expect(hold.held).toBe(true)
  expect((await engine.locks.query())[0]?.key).toBe('k')
  expect(await server.client.exists('by-address:token')).toBe(1)
})

test('a keyPrefix of the client is kept', async () => {
  const client = server.client.duplicate({ keyPrefix: 'app:' })
  await using engine = redisLocks({ client })
  await engine.locks.acquire('k')
  expect(await server.client.keys('app:latchkey:lock:*')).toHaveLength(1)
  client.disconnect()
})
