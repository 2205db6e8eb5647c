// Test: a member gets other addresses for known members. Either another cluster is there, which the member
// does not disturb, or its own members have moved.

import type { LatchkeyError, Store } from '@latchkey/client'
import { expect, test } from 'vitest'
import { openedInTest, stopped } from './testing/opened-stores-and-members.js'
import { addresses } from './testing/free-ports.js'

const IDS = ['a', 'b', 'c'] as const
type Id = (typeof IDS)[number]
type Three<Of> = Record<Id, Of>

const { inFolder, member, opening } = openedInTest()

const dirOf = (cluster: string, id: Id) => inFolder(`${cluster}-${id}`)

async function three(cluster: string, members: Three<string>, clusterId?: string): Promise<Three<Store>> {
  const start = (id: Id) => opening({ id, dir: dirOf(cluster, id), members, clusterId })
  const [a, b, c] = await Promise.all([start('a'), start('b'), start('c')])
  await Promise.all([a.ready(), b.ready(), c.ready()])
  // Its first leader draws the id of the cluster. A member that is closed before it has heard the id cannot
  // tell later that it is of another cluster.
  for (const store of [a, b, c]) await expect.poll(async () => (await store.status()).clusterId).not.toBe('')
  return { a, b, c }
}

const closeAll = ({ a, b, c }: Three<Store>) => Promise.all([a.close(), b.close(), c.close()])

const urlsOf = async (store: Store) =>
  Object.fromEntries((await store.status()).members.map(({ id, url }) => [id, url]))

test('M22: the directory of a cluster with the same ids, given the members of this one, stops and names both; the others go on', async () => {
  const [forX, forY] = [await addresses(IDS), await addresses(IDS)]
  const x = await three('x', forX)
  const y = await three('y', forY)
  await x.a.put('whose', 'x')
  const ids = [(await x.a.status()).clusterId, (await y.a.status()).clusterId]
  // The others of its own cluster still run: it reaches them, and is stopped all the same.
  await Promise.all([x.c.close(), y.c.close()])
  const { term } = await x.a.status()
  const wrong = await member({ id: 'c', dir: dirOf('y', 'c'), members: forX })
  const error = await stopped(wrong)
  expect(error).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  for (const id of ids) expect(error.message).toContain(id)
  expect(error.message).toMatch(/This directory of c is of cluster \w+ \(its directory made .*Z\)/)
  expect(error.message).toMatch(/[ab] at ws\S+ is of cluster \w+ \(its directory made .*Z\)/)
  expect(wrong.isReady()).toBe(false)
  await expect(wrong.store.get('whose')).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  await wrong.store.close()
  await x.a.put('still', 'x')
  expect((await x.a.status()).term).toBe(term)
  // Each of them comes back over its own.
  const c = await opening({ id: 'c', dir: dirOf('x', 'c'), members: forX })
  expect(await c.get('whose', { as: 'string' })).toBe('x')
})

test('M22: where those that were given are down it stops as soon as one of them comes back', async () => {
  const [forX, forY] = [await addresses(IDS), await addresses(IDS)]
  await closeAll(await three('x', forX))
  await closeAll(await three('y', forY))
  const wrong = await member({ id: 'c', dir: dirOf('y', 'c'), members: forX })
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  expect(await Promise.race([wrong.failed, 'runs'])).toBe('runs')
  await opening({ id: 'a', dir: dirOf('x', 'a'), members: forX })
  expect(await stopped(wrong)).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
})

test('M24: all members start at new addresses with a new list: they find each other, and the log has the new addresses', async () => {
  const [old, now] = [await addresses(IDS), await addresses(IDS)]
  const before = await three('y', old)
  await before.a.put('k', 'v')
  const { clusterId } = await before.a.status()
  await closeAll(before)
  const after = await three('y', now)
  for (const id of IDS) expect(await after[id].get('k', { as: 'string' })).toBe('v')
  await expect.poll(() => urlsOf(after.a)).toEqual(now)
  expect((await after.b.status()).clusterId).toBe(clusterId)
  await closeAll(after)
  // And back to where they were, which the log has had: it is found again, though nobody writes down an
  // address of former times.
  const back = await three('y', old)
  for (const id of IDS) expect(await back[id].get('k', { as: 'string' })).toBe('v')
})

test('M24: at the addresses of another cluster all three are that cluster in a new place; with clusterId they do not start', async () => {
  const [forX, forY] = [await addresses(IDS), await addresses(IDS)]
  const x = await three('x', forX)
  const { clusterId } = await x.a.status()
  await closeAll(x)
  const y = await three('y', forY)
  await y.a.put('whose', 'y')
  await closeAll(y)
  await expect(opening({ id: 'a', dir: dirOf('y', 'a'), members: forX, clusterId })).rejects.toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
  })
  const moved = await three('y', forX)
  expect(await moved.c.get('whose', { as: 'string' })).toBe('y')
})

test('M24: members move one after the other, told by members update and started with the new list', async () => {
  const [old, now] = [await addresses(IDS), await addresses(IDS)]
  const stores = await three('y', old)
  const others: Three<Id> = { a: 'b', b: 'c', c: 'a' }
  for (const id of IDS) {
    // Where the one that leads is updated the others lose it for a moment, and whoever asked may not be told.
    const update = () => stores[others[id]].members.update(id, now[id])
    await update().catch((error: LatchkeyError) => {
      expect(error.code).toBe('ERR_OUTCOME_UNKNOWN')
      return update()
    })
    const known = async () => (await urlsOf(stores[others[id]]))[id]
    await expect.poll(known).toBe(now[id])
    // It is where it was for a while: nobody takes the new address back because it answers at the old one.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(await known()).toBe(now[id])
    await stores[id].close()
    stores[id] = await opening({ id, dir: dirOf('y', id), members: now })
    await stores[id].ready()
    await stores[others[id]].put(`moved ${id}`, 'v')
  }
  for (const id of IDS) expect(await stores[id].get('moved c', { as: 'string' })).toBe('v')
  await expect.poll(() => urlsOf(stores.a)).toEqual(now)
})

// Without this law: a member has an address in the log that is new, and the others still have its old address in
// their options. The member answers at the old address and then stops. The others dial the old address without
// end, and the member at its new address is never reached.
test('M24: a member that answers at its old address, and stops before it is dialled there, is found at its new address', async () => {
  const [old, now] = [await addresses(IDS), await addresses(IDS)]
  const electionTimeout = 2_000
  const open = (id: Id, members: Three<string>) =>
    opening({ id, dir: dirOf('y', id), members, electionTimeout })
  const stores = { a: await open('a', old), b: await open('b', old), c: await open('c', old) }
  for (const id of IDS) await stores[id].ready()
  const { leader } = await stores.a.status()
  const id = IDS.find((one) => one !== leader) as Id
  const pause = (timeouts: number) =>
    new Promise((resolve) => setTimeout(resolve, timeouts * electionTimeout))
  const { members } = stores[leader as Id]
  await members.update(id, now[id])
  // With each change of the members, the others ask for the member at its old address.
  await members.add('x', 'ws://127.0.0.1:1')
  await pause(0.5)
  await stores[id].close()
  // An election timeout after the answer, the others dial the member at its old address.
  await pause(1.5)
  stores[id] = await open(id, { ...old, [id]: now[id] })
  await stores[id].ready()
  await stores[id].put('found', 'v')
})

test('M24: another name of the same address is asked once, and disturbs nobody', async () => {
  const old = await addresses(IDS)
  await closeAll(await three('y', old))
  const named = Object.fromEntries(IDS.map((id) => [id, old[id].replace('127.0.0.1', 'localhost')]))
  const terms: number[] = []
  const stores = await Promise.all(
    IDS.map((id) => opening({ id, dir: dirOf('y', id), members: { ...named, [id]: old[id] } })),
  )
  for (const store of stores) await store.ready()
  for (let i = 0; i < 20; i++) {
    await stores[i % 3]?.put('k', `${i}`)
    terms.push((await (stores[0] as Store).status()).term)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(new Set(terms).size).toBe(1)
  expect(await urlsOf(stores[0] as Store)).toEqual(old)
})
