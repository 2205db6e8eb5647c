// Test: single cases of Redis's engines that the suite cannot cause: late calls, missed pushes, late votes,
// and what remains in the server.

import { newId, systemClock, utf8 } from '@latchkey/base'
import { uptime } from 'node:os'
import { engineCallTests } from '@latchkey/locks'
import { afterAll, describe, expect, test } from 'vitest'
import { RedisConnection } from './redis-connection.js'
import { redisLocks } from './index.js'
import { quorumEngine } from './quorum-locks.js'
import { RedisEngine } from './redis-lock-engine.js'
import { scriptsOf } from './lock-lua-scripts.js'
import { Subscription } from './pubsub-connection.js'
import { startServer } from './testing/servers.js'

const PREFIX = 'single:'
const servers = await Promise.all([startServer(), startServer(), startServer()])
const [{ client }] = servers
const clients = servers.map((server) => server.client)
const connection = new RedisConnection(client, systemClock(uptime))
const terms = { prefix: PREFIX, scripts: scriptsOf(), survives: 'nothing' } as const
const engine = new RedisEngine(connection, new Subscription(client, PREFIX), terms, () => {})
const quorum = quorumEngine(clients, { prefix: PREFIX })
afterAll(async () => {
  await engine.close()
  await quorum.close()
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
})

const request = (name: string) => ({
  key: utf8(name),
  id: newId(),
  lease: 60_000,
  context: null,
  queues: true,
  patience: 60_000,
  before: Number.MAX_SAFE_INTEGER,
})

describe('one server', () => engineCallTests(test, engine))
describe('a quorum of masters', () => engineCallTests(test, quorum))

test('EN2: tokens rise by the counter where many are given at once, and by the clock where the counter was lost', async () => {
  const tokens: number[] = []
  for (let i = 0; i < 5; i++) {
    if (i === 3) await client.del(`${PREFIX}token`)
    const one = request('tokens')
    tokens.push((await engine.take(one)).hold?.token ?? 0)
    await engine.release(one.key, one.id, true)
  }
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
  const ahead = 8_000_000_000_000_000
  await client.set(`${PREFIX}token`, ahead)
  expect((await engine.take(request('ahead'))).hold?.token).toBe(ahead + 1)
  await client.del(`${PREFIX}token`)
})

test('what is over leaves nothing in the server but two counters', async () => {
  const prefix = 'clean:'
  const own = new RedisEngine(
    new RedisConnection(client, systemClock(uptime)),
    new Subscription(client, prefix),
    { ...terms, prefix, scripts: scriptsOf("tonumber(redis.call('GET', 'clean-offset') or '0')") },
    () => {},
  )
  const [a, b, c] = [request('1'), request('1'), request('2')]
  await own.take(a)
  await own.take(b)
  await own.release(a.key, a.id, true)
  await own.take(b)
  await own.release(b.key, b.id, true)
  expect((await client.keys('clean:*')).sort()).toEqual(['clean:place', 'clean:token'])
  await own.take(a)
  await own.take(b)
  await own.release(a.key, a.id, true)
  await own.cancel([b])
  expect((await client.keys('clean:*')).sort()).toEqual(['clean:place', 'clean:token'])
  // One is left to expire, with a waiter that has died.
  await own.take(c)
  await own.take({ ...c, id: newId() })
  await client.set('clean-offset', 2 * 3_600_000_000)
  const last = request('3')
  await own.take(last)
  await own.release(last.key, last.id, true)
  expect((await client.keys('clean:*')).sort()).toEqual(['clean:place', 'clean:token'])
  await own.close()
})

test('EN7: a push that was missed while the subscription was lost is made up for', async () => {
  await using a = redisLocks({ client, prefix: PREFIX, poll: '10m', patience: '1h' })
  await using b = redisLocks({ client, prefix: PREFIX, poll: '10m', patience: '1h' })
  const hold = await a.locks.acquire('missed', { lease: '10m' })
  const waiting = b.locks.acquire('missed', { wait: '50s' })
  const listeners = () => client.pubsub('NUMSUB', `${PREFIX}wake`).then((reply) => Number(reply[1]))
  await expect.poll(listeners).toBe(1)
  await expect.poll(async () => (await a.locks.query('missed'))[0]?.waiters).toBe(1)
  await Promise.all([client.call('CLIENT', ['KILL', 'TYPE', 'pubsub']), hold.release()])
  expect((await waiting).held).toBe(true)
})

test("survives: 'restart' is refused on a server that does not write each hold to its disk", async () => {
  await using server = await startServer(['--appendonly', 'yes', '--appendfsync', 'everysec'])
  await using locks = redisLocks({ client: server.client, survives: 'restart' })
  await expect(locks.locks.acquire('k')).rejects.toThrow(/needs a server with appendfsync always/)
})

test('keys that somebody else has written are an error that says what to do', async () => {
  await client.set(`${PREFIX}lock:wrong`, 'x')
  await expect(engine.take(request('wrong'))).rejects.toMatchObject({
    code: 'ERR_FORBIDDEN',
    outcome: 'not-applied',
  })
})

const votesOf = async (name: string) =>
  (await Promise.all(clients.map((one) => one.exists(`${PREFIX}lock:${name}`)))).join('')

test('a quorum: who gets no majority gives back what it got, and who has the lock keeps it', async () => {
  const foreign = ['1', '2'].map((n) => request(`minority`).id + n)
  for (const [i, id] of foreign.entries())
    await clients[i]?.hset(`${PREFIX}lock:minority`, {
      id,
      token: 1,
      deadline: 9e15,
      acquires: 1,
      since: 1,
      kind: 0,
      context: '',
    })
  expect(await quorum.take(request('minority'))).toMatchObject({ code: 'HELD', queued: true })
  await expect.poll(() => votesOf('minority')).toBe('110')
})

test('EN5: a vote that comes after its hold was released is given back', async () => {
  const slow = servers[2]
  const own = quorumEngine(clients, { prefix: PREFIX })
  // The first call of a master asks for its time; the take follows, after the release.
  slow.stall()
  const one = request('slow')
  expect((await own.take(one)).code).toBe('FIRST_TIME')
  expect((await own.release(one.key, one.id, true)).code).toBe('RELEASED')
  slow.go()
  // One connection is answered in order: the take was sent before the second of these, and given back before the third.
  for (let i = 0; i < 3; i++) await own.query({ prefix: null, isKey: false, queue: false })
  expect(await votesOf('slow')).toBe('000')
  await own.close()
})

test('EN4: a take that reaches a master after its time is LATE there', async () => {
  const own = quorumEngine(clients, { prefix: PREFIX })
  const { now } = await own.time()
  expect((await own.take({ ...request('gone'), before: now - 1 })).code).toBe('LATE')
  const slow = servers[2]
  await own.take(request('warm'))
  await expect.poll(() => votesOf('warm')).toBe('111')
  slow.stall()
  const one = { ...request('gone'), before: (await own.time()).now + 8_000 }
  expect((await own.take(one)).code).toBe('FIRST_TIME')
  await new Promise((resolve) => setTimeout(resolve, 8_300))
  slow.go()
  // The connection of the engine is answered in order.
  await own.query({ prefix: null, isKey: false, queue: false })
  expect(await votesOf('gone')).toBe('110')
  await own.close()
})

test('a quorum: only the owner prolongs, and a master that has lost the hold is not given it again', async () => {
  const one = { ...request('own'), lease: 30_000 }
  await quorum.take(one)
  await expect.poll(() => votesOf('own')).toBe('111')
  const { holds } = await quorum.renew([
    { ...one, id: newId() },
    { ...one, lease: 60_000 },
  ])
  expect(holds[0]).toBeUndefined()
  expect(holds[1]?.id).toBe(one.id)
  await clients[0]?.del(`${PREFIX}lock:own`)
  expect((await quorum.renew([one])).holds[0]?.id).toBe(one.id)
  expect(await votesOf('own')).toBe('011')
  await clients[1]?.del(`${PREFIX}lock:own`)
  expect((await quorum.renew([one])).holds[0]).toBeUndefined()
})
