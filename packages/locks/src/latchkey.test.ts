// Test: the suite of lock engines passes on Latchkey's own locks, with a cluster of three whose leader the
// suite kills. Also: locks() with an address.

import { type AddressInfo, createServer } from 'node:net'
import { open } from 'latchkey'
import { testCluster } from 'latchkey/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { locks } from './open/locks-by-address.js'
import { engineSuite, type SuiteClient } from './suite/engine-suite.js'

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

let cluster: Awaited<ReturnType<typeof testCluster>>
beforeAll(async () => {
  cluster = await testCluster({ members: 3, clock: 'real' })
  await cluster.leader()
})
afterAll(() => cluster.close())

engineSuite(test, async (): Promise<SuiteClient> => {
  const store = await cluster.connect()
  return {
    locks: store.locks as SuiteClient['locks'],
    getDistributedLock: (...given) => store.getDistributedLock(...given),
    capabilities: {
      fencing: 'enforced',
      queue: 'fair',
      wakeUp: 'push',
      survives: 'failover',
      time: 'cluster',
    },
    close: (options) => store.close(options),
    [Symbol.asyncDispose]: () => store.close(),
    guardedWrite: async (guard) => {
      await store.put('written', 'under a guard', { guard })
    },
    failover: async () => {
      const leader = await cluster.leader()
      await cluster.kill(leader)
      await cluster.leader()
      await cluster.start(leader)
    },
  }
})

test('EN1: an address of members gives the locks of that cluster', async () => {
  const port = await freePort()
  await using member = await open({
    id: 'a',
    memory: true,
    members: { a: `ws://127.0.0.1:${port}` },
  })
  await member.ready()
  const engine = await locks(`latchkey+ws://127.0.0.1:${port}`, { as: 'string' })
  expect(engine.capabilities).toMatchObject({ fencing: 'enforced', time: 'cluster' })
  const hold = await engine.locks.acquire('k', { lease: '1m' })
  expect(await member.locks.tryAcquire('k')).toBeUndefined()
  await expect(engine.getDistributedLock('k', '1m').tryLock()).resolves.toBe(false)
  expect(hold.held).toBe(true)
  await engine.close()
  expect(await member.locks.tryAcquire('k')).toMatchObject({ held: true })
})

test('an address that is no lock engine, and a package that is not there, say what to do', async () => {
  await expect(locks('mysql://host')).rejects.toThrow(/must begin with .*postgres:\/\/.*got "mysql"/)
  await expect(locks('nothing')).rejects.toThrow(TypeError)
  await expect(locks(undefined as never)).rejects.toThrow(TypeError)
  await using memory = await locks('memory:', { as: 'string' })
  await using hold = await memory.locks.acquire('k')
  expect(hold.held).toBe(true)
})
