// Test: the suite of lock engines passes on a cluster of three etcd servers, and kills their leader where
// needed.

import { engineSuite, locks, type SuiteClient } from '@latchkey/locks'
import { afterAll, describe, expect, test } from 'vitest'
import { type EtcdLocks, etcdLocks } from './index.js'
import { startServers } from './testing/servers.js'

const servers = await startServers()
const { client } = servers
afterAll(() => servers[Symbol.asyncDispose]())

let dead: number | undefined

/** The one before comes back first, so that a majority stays. */
async function failover(): Promise<void> {
  if (dead !== undefined) await servers.start(dead)
  dead = await servers.leader()
  await servers.kill(dead)
  await servers.leader()
}

const suiteClient = (engine: EtcdLocks): SuiteClient => ({
  ...(engine as unknown as SuiteClient),
  guardedWrite: async (hold) => {
    await engine.guard(hold, client.put('written').value('by the holder'))
  },
  failover,
})

describe('etcd', () => {
  engineSuite(test, async ({ poll, patience }) => suiteClient(etcdLocks({ client, poll, patience })))
})

test('locks() opens an address, and ends its client', async () => {
  const url = `etcd://${servers.urls.map((one) => new URL(one).host).join(',')}`
  await using engine = await locks(url, { prefix: 'by-address/', as: 'string' })
  await using hold = await engine.locks.acquire('k')
  expect(hold.held).toBe(true)
  expect((await engine.locks.query())[0]?.key).toBe('k')
})
