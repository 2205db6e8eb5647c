// Test: single cases of etcd's engine that the suite cannot cause, and the known failures of locks in etcd's
// clients: a lease that is lost during a wait, a watch from a compacted revision, a cancelled call that
// leaves its key, a late request, and a stream that is open but silent.

import { newId, utf8 } from '@latchkey/base'
import { engineCallTests } from '@latchkey/locks'
import { afterAll, expect, test } from 'vitest'
import type { EtcdClient, KeepAliveConnection } from './etcd-types.js'
import { etcdEngine, etcdLocks } from './etcd-locks.js'
import { RowWatches } from './row-watches.js'
import { clientTo, pause, startServers } from './testing/servers.js'

const PREFIX = 'single/'
const servers = await startServers()
const { client } = servers
const engine = etcdEngine(client, { prefix: PREFIX })
afterAll(async () => {
  await engine.close()
  await servers[Symbol.asyncDispose]()
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
const rowsOf = async (prefix: string) => {
  const { kvs } = await client.getAll().prefix(prefix).exec()
  return kvs.map(({ key }) => key.toString())
}

/** The client of all servers, whose transactions pass through `txn`. */
const withTxn = (txn: EtcdClient['kv']['txn']): EtcdClient => ({
  kv: { txn },
  leaseClient: (client as unknown as EtcdClient).leaseClient,
  watchClient: (client as unknown as EtcdClient).watchClient,
  close: () => {},
})

engineCallTests(test, engine)

test('what is over leaves nothing in etcd, and a hold that was left to expire is told as such', async () => {
  const own = etcdEngine(client, { prefix: 'clean/' })
  const [a, b] = [request('1'), request('1')]
  await own.take(a)
  await own.take(b)
  await own.release(a.key, a.id, true)
  expect((await own.take(b)).code).toBe('FIRST_TIME')
  await own.release(b.key, b.id, true)
  expect(await rowsOf('clean/')).toEqual([])
  expect((await own.take({ ...a, lease: 200 })).code).toBe('FIRST_TIME')
  await expect.poll(async () => (await own.take(b)).code).toBe('NEW_ACQUIRE')
  await own.release(b.key, b.id, true)
  expect(await rowsOf('clean/')).toEqual([])
  await own.close()
})

test('EN3: a longer lease than before is a lease of that length, with the same token', async () => {
  const one = request('longer')
  const first = await engine.take({ ...one, lease: 2_000 })
  const again = await engine.take({ ...one, lease: 120_000 })
  expect(again).toMatchObject({ code: 'REENTRANT', hold: { token: first.hold?.token, acquires: 2 } })
  const { holds, now } = await engine.renew([{ key: one.key, id: one.id, lease: 240_000 }])
  expect(holds[0]?.token).toBe(first.hold?.token)
  expect((holds[0]?.deadline ?? 0) - now).toBeGreaterThan(200_000)
  const row = (await client.getAll().prefix(`${PREFIX}held/longer`).exec()).kvs[0]
  const { TTL } = await client.leaseClient.leaseTimeToLive({ ID: row?.lease ?? '' })
  expect(Number(TTL)).toBeGreaterThan(200)
})

test('EN6: a waiter whose lease was lost while it waited has not got the lock, comes back, and gets it in its turn', async () => {
  const [a, b, c] = [request('lost'), request('lost'), request('lost')]
  await engine.take(a)
  await engine.take(b)
  await engine.take(c)
  const place = (await client.getAll().prefix(`${PREFIX}wait/`).exec()).kvs.find(({ key }) =>
    key.toString().endsWith(b.id),
  )
  await client.leaseClient.leaseRevoke({ ID: place?.lease ?? '' })
  await engine.release(a.key, a.id, true)
  expect(await engine.take(b)).toMatchObject({ code: 'HELD', queued: true })
  expect((await engine.take(c)).code).toBe('FIRST_TIME')
  await engine.release(c.key, c.id, true)
  expect((await engine.take(b)).code).toBe('FIRST_TIME')
})

/**
 * The client of all servers. `revoke` gets the lease of each request to revoke, and the function that sends
 * the request. `keep` says whether a lease that is renewed still counts as alive.
 */
const withLeases = (
  revoke: (id: string, send: () => Promise<unknown>) => Promise<unknown>,
  keep: (id: string) => boolean,
): EtcdClient => {
  const { leaseClient } = client as unknown as EtcdClient
  return {
    ...withTxn((txn, options) => client.kv.txn(txn, options) as never),
    leaseClient: {
      leaseGrant: (asked, options) => leaseClient.leaseGrant(asked, options),
      leaseRevoke: (asked, options) => revoke(asked.ID, () => leaseClient.leaseRevoke(asked, options)),
      leaseTimeToLive: (asked, options) => leaseClient.leaseTimeToLive(asked, options),
      leaseKeepAlive: async () => {
        let told: Parameters<KeepAliveConnection['on']>[1] = () => {}
        return {
          write: ({ ID }) => setImmediate(() => told({ ID, TTL: keep(ID) ? '60' : '0' } as never)),
          end: () => {},
          on: (event: string, listener: typeof told) => void (event === 'data' && (told = listener)),
        } as KeepAliveConnection
      },
    },
  }
}
const placeOf = async (prefix: string, id: string) =>
  (await client.getAll().prefix(`${prefix}wait/`).exec()).kvs.find(({ key }) => key.toString().endsWith(id))

// Without this law: the row of the old place is written again, and keeps its old revision. The waiter compares
// this revision with the revision of its new place, and finds that a waiter is ahead. All waiters behind the
// row also wait, and nobody ever gets the lock.
test('EN6: a waiter that lost its place enters with a new row, although the old row still exists', async () => {
  const over = new Set<string>()
  const delayed: (() => Promise<unknown>)[] = []
  const own = etcdEngine(
    withLeases(
      (id, send) =>
        over.delete(id) ? new Promise((done) => delayed.push(() => send().then(done, done))) : send(),
      (id) => !over.has(id),
    ),
    { prefix: 'again/' },
  )
  const [a, b, c] = [request('a'), request('a'), request('a')]
  await own.take(a)
  await own.take(b)
  const old = await placeOf('again/', b.id)
  over.add(old?.lease ?? '')
  expect(await own.take(b)).toMatchObject({ code: 'HELD', queued: true })
  expect(delayed).toHaveLength(1)
  const place = await placeOf('again/', b.id)
  expect(BigInt(place?.create_revision ?? 0)).toBeGreaterThan(BigInt(old?.create_revision ?? 0))
  await own.take(c)
  await own.release(a.key, a.id, true)
  expect((await own.take(c)).code).toBe('HELD')
  expect((await own.take(b)).code).toBe('FIRST_TIME')
  await delayed[0]?.()
  await own.release(b.key, b.id, true)
  expect((await own.take(c)).code).toBe('FIRST_TIME')
  await own.close()
})

// Without this law: a waiter whose place has ended gets the lock before the first waiter of the queue.
test('EN6: a waiter whose row is deleted just before its take does not overtake the first waiter', async () => {
  let beforeTake: (() => Promise<unknown>) | undefined
  const own = etcdEngine(
    withTxn(async (txn, options) => {
      const run = 'compare' in txn ? beforeTake : undefined
      if (run !== undefined) {
        beforeTake = undefined
        await run()
      }
      return client.kv.txn(txn, options) as never
    }),
    { prefix: 'gone/' },
  )
  const [a, b, c] = [request('g'), request('g'), request('g')]
  for (const one of [a, b, c]) await own.take(one)
  const place = await placeOf('gone/', b.id)
  await own.release(a.key, a.id, true)
  beforeTake = () => client.leaseClient.leaseRevoke({ ID: place?.lease ?? '' })
  expect(await own.take(b)).toMatchObject({ code: 'HELD', queued: true })
  expect(beforeTake).toBeUndefined()
  expect((await own.take(c)).code).toBe('FIRST_TIME')
  await own.release(c.key, c.id, true)
  expect((await own.take(b)).code).toBe('FIRST_TIME')
  await own.close()
})

test('EN7: a watch from a revision that was compacted wakes its waiter', async () => {
  const old = (await client.put('compacted').value('1')).header.revision
  await client.delete().key('compacted')
  const { header } = await client.put('other').value('1')
  await client.kv.compact({ revision: header.revision, physical: true })
  let woken = 0
  const watches = new RowWatches(client as unknown as EtcdClient)
  watches.begin(Buffer.from('compacted'), old, () => woken++)
  await expect.poll(() => woken).toBe(1)
})

test('EN7: a watch whose server dies wakes its waiter', async () => {
  const lonely = clientTo(servers.urls.slice(2))
  let woken = 0
  const watches = new RowWatches(lonely as unknown as EtcdClient)
  const { header } = await client.put('watched').value('1')
  watches.begin(Buffer.from('watched'), header.revision, () => woken++)
  await pause(300)
  await servers.kill(2)
  await expect.poll(() => woken).toBe(1)
  lonely.close()
  await servers.start(2)
})

test('EN5: a request that was given up and arrives later takes nothing', async () => {
  const delayed: (() => Promise<unknown>)[] = []
  let loses = true
  const own = etcdEngine(
    withTxn((txn, options) => {
      if (!loses) return client.kv.txn(txn, options) as never
      delayed.push(() => client.kv.txn(txn))
      return Promise.reject(new Error('the connection was lost'))
    }),
    { prefix: 'delayed/' },
  )
  const one = request('d')
  await expect(own.take(one)).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' })
  loses = false
  await own.cancel([one])
  // Now the network delivers it.
  await expect(delayed[0]?.()).rejects.toThrow(/lease/)
  expect(await rowsOf('delayed/')).toEqual([])
  await own.close()
})

test('EN5: a take whose answer was lost is not counted twice, and its hold is found by the next try', async () => {
  let loses = true
  const own = etcdEngine(
    withTxn(async (txn, options) => {
      const answer = await client.kv.txn(txn, options)
      if (loses) throw new Error('the connection was lost')
      return answer as never
    }),
    { prefix: 'answers/' },
  )
  const one = request('a')
  await expect(own.take(one)).rejects.toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' })
  loses = false
  const taken = await own.take(one)
  expect(taken.hold?.acquires).toBe(1)
  expect((await own.release(one.key, one.id, false)).code).toBe('RELEASED')
  expect(await rowsOf('answers/')).toEqual([])
  await own.close()
})

test('EN5: calls that are given up at any moment leave no key behind', async () => {
  await using engines = etcdLocks({ client, prefix: 'aborted/' })
  await using holder = etcdLocks({ client, prefix: 'aborted/' })
  for (let n = 0; n < 30; n++) {
    const held = n % 2 === 0 ? await holder.locks.acquire('k') : undefined
    const abort = new AbortController()
    const taking = engines.locks.acquire('k', { signal: abort.signal })
    const ended = taking.then(
      (hold) => hold.release(),
      () => {},
    )
    await pause(n % 10)
    abort.abort()
    await ended
    await held?.release()
  }
  await expect.poll(() => rowsOf('aborted/')).toEqual([])
})

test('EN1: a stream that is open and silent keeps nothing: the holder knows in time that it lost the lock', async () => {
  const lonely = clientTo(servers.urls.slice(1, 2))
  const a = etcdLocks({ client: lonely, prefix: 'silent/' })
  await using b = etcdLocks({ client, prefix: 'silent/', poll: '300ms' })
  const hold = await a.locks.acquire('k', { lease: '3s' })
  const { signal } = hold
  const begun = performance.now()
  servers.stall(1)
  // Its client sends each call to a server of chance: a call to the silent one is in vain, and takes 4 s.
  const next = b.locks.acquire('k', { wait: '150s' })
  let wasHeldWithNext = false
  await next.then(() => {
    wasHeldWithNext = hold.held
  })
  expect(wasHeldWithNext).toBe(false)
  await expect.poll(() => signal.aborted).toBe(true)
  expect(performance.now() - begun).toBeGreaterThan(1_000)
  servers.go(1)
  await a.close({ holds: 'keep' })
  lonely.close()
}, 200_000)
