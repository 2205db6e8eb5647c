// Test: failures that locks on Redis do not prevent: two clients believe that they hold one lock. If tokens
// are compared, the first holder cannot write any more. On several masters, nothing stops it.

import { FenceGuard } from '@latchkey/lock'
import { afterAll, expect, test } from 'vitest'
import { engineLocks } from '@latchkey/lock'
import { redisLocks, redisQuorumLocks } from './index.js'
import { quorumEngine } from './quorum-locks.js'
import { RedisConnection } from './redis-connection.js'
import { RedisEngine } from './redis-lock-engine.js'
import { scriptsOf } from './lock-lua-scripts.js'
import { Subscription } from './pubsub-connection.js'
import { DURABLE, MASTER, pause, startSentinel, startServer, type TestServer } from './testing/servers.js'
import { Redis } from 'ioredis'
import { systemClock } from '@latchkey/base'
import { uptime } from 'node:os'

const clock = systemClock(uptime)
const HOUR = 3_600_000_000
/** A replica gets its first copy at once. */
const READY_TO_COPY = [...DURABLE, '--repl-diskless-sync-delay', '0']
const FORGETFUL = ['--appendonly', 'no']
const LONG = { lease: '5m' } as const
const servers: TestServer[] = []
const started = async (settings?: readonly string[]) => {
  const server = await startServer(settings)
  servers.push(server)
  return server
}
const three = async (settings?: readonly string[]) =>
  [await started(settings), await started(settings), await started(settings)] as const
afterAll(() => Promise.all(servers.map((server) => server[Symbol.asyncDispose]())))

/** WAIT counts the replicas that have what its own connection has written, and all that was written before. */
async function reached(client: Redis, patience: number): Promise<number> {
  await client.set('after', 1)
  return client.wait(1, patience)
}

/** Data that compares tokens refuses the late one, and takes that of the next. */
async function tokensKeepOut(late: { token: number }, next: { token: number }): Promise<void> {
  const guard = new FenceGuard()
  await guard.check('data', late.token)
  await guard.check('data', next.token)
  await expect(guard.check('data', late.token)).rejects.toMatchObject({ code: 'ERR_FENCED' })
}

test('one server without an append-only file starts again: two hold the lock, and EN2: the token has risen nevertheless', async () => {
  const server = await started(FORGETFUL)
  await using a = redisLocks({ client: server.client })
  await using b = redisLocks({ client: server.client })
  const late = await a.locks.acquire('k', LONG)
  await server.kill()
  await server.start()
  const next = await b.locks.acquire('k', LONG)
  expect([late.held, next.held]).toEqual([true, true])
  await tokensKeepOut(late, next)
})

test('a replica that takes over without the last write: two hold the lock; WAIT would have told that nobody else had it', async () => {
  const master = await started(READY_TO_COPY)
  const replica = await started(['--replicaof', '127.0.0.1', String(master.port), '--repl-timeout', '60'])
  await expect.poll(() => replica.client.info('replication')).toMatch(/link_status:up/)
  await using a = redisLocks({ client: master.client })
  await using b = redisLocks({ client: replica.client })
  replica.stall()
  // What lies in the replica's socket would still be read.
  await master.client.call('CLIENT', ['KILL', 'TYPE', 'replica'])
  const late = await a.locks.acquire('k', LONG)
  expect(await reached(master.client, 200)).toBe(0)
  await master.kill()
  replica.go()
  await replica.client.replicaof('NO', 'ONE')
  const next = await b.locks.acquire('k', LONG)
  expect([late.held, next.held]).toEqual([true, true])
  await tokensKeepOut(late, next)
})

test('with sentinels a hold that the replica had goes on at the new master, and nobody else gets it', async () => {
  const master = await started(READY_TO_COPY)
  const replica = await started(['--replicaof', '127.0.0.1', String(master.port)])
  await expect.poll(() => replica.client.info('replication')).toMatch(/link_status:up/)
  await using sentinel = await startSentinel(master)
  await expect
    .poll(() => sentinel.client.call('SENTINEL', ['REPLICAS', MASTER]), { timeout: 20_000, interval: 100 })
    .toHaveLength(1)
  const client = new Redis({ sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: MASTER })
  client.on('error', () => {})
  await using a = redisLocks({ client, poll: '500ms' })
  await using b = redisLocks({ client, poll: '500ms' })
  const hold = await a.locks.acquire('k', { lease: '40s' })
  expect(await reached(client, 10_000)).toBe(1)
  const { token } = hold
  await master.kill()
  expect(await hold.rotate()).toBeGreaterThan(token)
  expect(await b.locks.tryAcquire('k')).toBeUndefined()
  const waiting = b.locks.acquire('k', { wait: '30s' })
  await hold.release()
  expect((await waiting).held).toBe(true)
  client.disconnect()
})

test("the server's clock is set forward: its holder believes in a hold that another has", async () => {
  const { client } = await started()
  const connect = () => {
    const scripts = scriptsOf("tonumber(redis.call('GET', 'offset') or '0')")
    const terms = { prefix: 'jump:', scripts, survives: 'nothing' } as const
    const connection = new RedisConnection(client, clock)
    return engineLocks(new RedisEngine(connection, new Subscription(client, 'jump:'), terms, () => {}))
  }
  await using a = connect()
  await using b = connect()
  const late = await a.locks.acquire('k', LONG)
  expect(await b.locks.tryAcquire('k')).toBeUndefined()
  await client.set('offset', HOUR)
  const next = await b.locks.acquire('k', LONG)
  expect([late.held, next.held]).toEqual([true, true])
  await tokensKeepOut(late, next)
})

/** Reads, is paused, and writes what it has read plus one. */
async function addOne(data: { value: number }, isPaused: () => Promise<void>): Promise<void> {
  const { value } = data
  await isPaused()
  data.value = value + 1
}

test('a pause that outlasts the lease, on a quorum: both write, and one of the writes is lost', async () => {
  const clients = (await three()).map(({ client }) => client)
  await using a = redisQuorumLocks({ clients })
  await using b = redisQuorumLocks({ clients })
  const data = { value: 0 }
  const late = await a.locks.acquire('k', { lease: '6s', renew: false })
  // It looks at its hold, and is then paused: by a collection of garbage, a page fault, a machine that moves.
  expect(late.held).toBe(true)
  let next: { token: number } = { token: 0 }
  await addOne(data, async () => {
    const hold = await b.locks.acquire('k', { wait: '20s' })
    await addOne(data, async () => {})
    next = hold
  })
  expect(late.held).toBe(false)
  // Two have added one.
  expect(data.value).toBe(1)
  // The tokens are numbers of chance: whoever compared them would refuse the right one as often as the late one.
  expect(a.capabilities.fencing).toBe('none')
  expect(next.token).not.toBe(late.token)
})

test('the same pause on one server, where the data compares tokens: the late write is refused', async () => {
  const { client } = await started()
  await using a = redisLocks({ client })
  await using b = redisLocks({ client })
  const data = { value: 0, guard: new FenceGuard() }
  const late = await a.locks.acquire('k', { lease: '500ms', renew: false })
  const next = await b.locks.acquire('k', { wait: '20s' })
  await data.guard.check('data', next.token)
  await addOne(data, async () => {})
  await expect(data.guard.check('data', late.token)).rejects.toMatchObject({ code: 'ERR_FENCED' })
  expect(data.value).toBe(1)
})

test('the clocks of two masters of three are set forward: two majorities, two holders, and nothing that keeps one out', async () => {
  const masters = await three()
  const clients = masters.map(({ client }) => client)
  const scripts = masters.map(() => scriptsOf("tonumber(redis.call('GET', 'offset') or '0')"))
  await using a = engineLocks(quorumEngine(clients, { scripts }))
  await using b = engineLocks(quorumEngine(clients, { scripts }))
  const late = await a.locks.acquire('k', LONG)
  expect(await b.locks.tryAcquire('k')).toBeUndefined()
  await masters[1].client.set('offset', HOUR)
  expect(await b.locks.tryAcquire('k')).toBeUndefined()
  await masters[2].client.set('offset', HOUR)
  const next = await b.locks.acquire('k', LONG)
  expect([late.held, next.held]).toEqual([true, true])
})

test.each([
  ['without an append-only file', FORGETFUL, true],
  ['that has written its vote to its disk', undefined, false],
] as const)(
  'a master %s starts again at once, while another was away: two majorities is %#',
  async (_, settings, isHarmed) => {
    const masters = await three(settings)
    const clients = masters.map(({ client }) => client)
    await using a = redisQuorumLocks({ clients })
    await using b = redisQuorumLocks({ clients })
    await masters[2].kill()
    const late = await a.locks.acquire('k', LONG)
    await masters[1].kill()
    await masters[1].start()
    await masters[2].start()
    const next = await b.locks.tryAcquire('k', { wait: isHarmed ? '20s' : '2s' })
    expect(late.held).toBe(true)
    expect(next?.held).toBe(isHarmed ? true : undefined)
    await pause(0)
  },
)
