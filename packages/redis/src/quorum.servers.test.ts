// Test: the suite of lock engines passes on three masters that do not know each other, and kills one of them
// where needed.

import { engineSuite, locks, type SuiteClient } from '@latchkey/locks'
import { afterAll, describe, expect, test } from 'vitest'
import { redisQuorumLocks } from './index.js'
import { startServer } from './testing/servers.js'

const servers = await Promise.all([startServer(), startServer(), startServer()])
const [first] = servers
const clients = servers.map(({ client }) => client)
afterAll(() => Promise.all(servers.map((server) => server[Symbol.asyncDispose]())))

let isDown = false
const failover = async () => {
  if (!isDown) await first.kill()
  isDown = true
}
afterAll(() => expect(isDown).toBe(true))

describe('three masters', () => {
  engineSuite(test, async ({ poll, patience }): Promise<SuiteClient> => {
    if (isDown) await first.start()
    isDown = false
    const engine = redisQuorumLocks({ clients, poll, patience })
    return { ...(engine as unknown as SuiteClient), failover }
  })
})

test('locks() opens an address of several masters', async () => {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
  await using engine = await locks(`redis+quorum://${hosts}`, { as: 'string' })
  expect(engine.capabilities).toMatchObject({ fencing: 'none', queue: 'unfair', time: 'client' })
  await using hold = await engine.locks.acquire('k')
  expect(hold.held).toBe(true)
  expect((await engine.locks.query())[0]?.key).toBe('k')
})
