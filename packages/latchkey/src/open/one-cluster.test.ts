// Test: a member with the directory of another cluster, at a member's address, serves no client and stops.
// The right cluster continues.

import { connect, type Store } from '@latchkey/client'
import { pack } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { open } from './open.js'
import type { OpenOptions } from './options.js'
import { openedInTest, stopped } from './testing/opened-stores-and-members.js'
import { addresses } from './testing/free-ports.js'

const { inFolder, later, member, opening } = openedInTest()

type Three = Record<'a' | 'b' | 'c', string>

async function clusterX(members: Three, auth?: OpenOptions['auth']): Promise<Record<'a' | 'b' | 'c', Store>> {
  const start = (id: string) => opening({ id, dir: inFolder(`x-${id}`), members, auth })
  const [a, b, c] = await Promise.all([start('a'), start('b'), start('c')])
  await Promise.all([a.ready(), b.ready(), c.ready()])
  await a.put('whose', 'x')
  return { a, b, c }
}

/** A directory of another cluster of one, whose member is called a too. */
async function directoryY(auth?: OpenOptions['auth']): Promise<string> {
  const dir = inFolder('y')
  const store = await opening({ id: 'a', dir, auth })
  await store.put('whose', 'y')
  await store.close()
  return dir
}

test('M22: a directory of another cluster, given the members of this one, serves nobody and stops; the others go on', async () => {
  const members = await addresses(['a', 'b', 'c'])
  const x = await clusterX(members)
  const dir = await directoryY()
  await x.a.close()
  const y = await member({ id: 'a', dir, members })
  const reading = y.store.get('whose', { timeout: '50s' })
  // Nobody is served while it asks, and none after it has stopped.
  const answers = Promise.allSettled([reading, connect([members.a], { timeout: 1_000 })])
  const error = await stopped(y)
  expect(error).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  expect(error.message).toMatch(/This directory of a is of cluster \w+ \(its directory made .*Z\)/)
  expect(error.message).toContain(`${members.b}`)
  expect(Object.keys(error.clusters ?? {})).toHaveLength(2)
  expect(Object.values(error.clusters ?? {}).flat()).toContain(members.a)
  const [read, connected] = await answers
  expect(read).toMatchObject({ status: 'rejected', reason: { code: 'ERR_WRONG_CLUSTER' } })
  expect(connected.status).toBe('rejected')
  expect(y.isReady()).toBe(false)
  await y.store.close()
  expect(await x.b.get('whose', { as: 'string' })).toBe('x')
  // And its own member comes back.
  const again = await opening({ id: 'a', dir: inFolder('x-a'), members })
  expect(await again.get('whose', { as: 'string' })).toBe('x')
})

test('M22: while the members that were given are down it waits for them a while only; it stops when one comes back', async () => {
  const members = await addresses(['a', 'b', 'c'])
  const x = await clusterX(members)
  const dir = await directoryY()
  await Promise.all([x.a.close(), x.b.close(), x.c.close()])
  const y = await member({ id: 'a', dir, members })
  expect(y.isReady()).toBe(false)
  expect(await y.store.get('whose', { as: 'string', timeout: '30s' })).toBe('y')
  const [b, c] = await Promise.all([
    opening({ id: 'b', dir: inFolder('x-b'), members }),
    opening({ id: 'c', dir: inFolder('x-c'), members }),
  ])
  expect(await stopped(y)).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  expect(await b.get('whose', { as: 'string' })).toBe('x')
  expect(await c.get('whose', { as: 'string' })).toBe('x')
})

test('M22: an address that was a member once is no stranger: a list that is older than the log stops nobody', async () => {
  const members = await addresses(['a', 'b'])
  const dir = inFolder('a')
  const [a, b] = await Promise.all([
    opening({ id: 'a', dir, members }),
    opening({ id: 'b', memory: true, members }),
  ])
  await a.ready()
  await a.put('k', 'v')
  await a.members.remove('b')
  await b.close()
  await a.close()
  // At the address of b another cluster lives now.
  const other = await opening({ id: 'b', memory: true, members: { b: members.b } })
  await other.ready()
  // A member that waits for members that it does not know waits for twice its election timeout.
  const electionTimeout = 10_000
  const began = performance.now()
  const again = await opening({ id: 'a', dir, members, electionTimeout })
  expect(await again.get('k', { as: 'string', timeout: '1m' })).toBe('v')
  expect(performance.now() - began).toBeLessThan(2 * electionTimeout)
})

test('M22: a stranger at an address that was given stops nobody: he has proved nothing', async () => {
  const [members, auth] = [await addresses(['a', 'b']), { tokens: ['all'], memberToken: 'm' }]
  const dir = await directoryY(auth)
  const server = new WebSocketServer({ host: '127.0.0.1', port: Number(new URL(members.b).port) })
  later({ close: async () => server.close() })
  let asked = 0
  server.on('connection', (socket) => {
    socket.on('error', () => {})
    socket.on('message', () => {
      asked++
      socket.send(pack([1, 2, 12, 'two clusters', ['b', 'of b', 1, 'another-cluster', 0, 1]]))
    })
  })
  const y = await member({ id: 'a', dir, members, auth })
  expect(await y.store.get('whose', { as: 'string', timeout: '30s' })).toBe('y')
  expect(asked).toBeGreaterThan(0)
  expect(y.isReady()).toBe(true)
})

test('M22: members of one cluster prove it, and serve at once, though the log of one is older than the list', async () => {
  const members = await addresses(['a', 'b', 'c'])
  const [a, b] = [
    await opening({ id: 'a', dir: inFolder('a'), members: { a: members.a } }),
    await opening({ id: 'b', dir: inFolder('b'), members: { a: members.a, b: members.b }, join: true }),
  ]
  await a.ready()
  await a.members.add('b', members.b)
  await a.put('k', 'v')
  await b.close()
  await a.members.add('c', members.c)
  const c = await opening({ id: 'c', memory: true, members, join: true })
  const again = await opening({ id: 'b', dir: inFolder('b'), members })
  await again.ready()
  expect(await again.get('k', { as: 'string' })).toBe('v')
  await c.close()
})

test('M22: clusterId, as status tells it: a member is of that cluster, or does not start', async () => {
  const dir = inFolder('a')
  const store = await opening({ id: 'a', dir })
  await store.put('k', 'v')
  const { clusterId } = await store.status()
  expect(clusterId).toMatch(/^[0-9a-f]{32}$/)
  await store.close()
  const again = await opening({ id: 'a', dir, clusterId })
  expect(await again.get('k', { as: 'string' })).toBe('v')
  await again.close()
  await expect(open({ id: 'a', dir, clusterId: 'another' })).rejects.toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
    message: expect.stringMatching(new RegExp(`cluster ${clusterId}.*another`)),
  })
  // A new directory would found a cluster of its own.
  const fresh = inFolder('fresh')
  const founding = await member({ id: 'a', dir: fresh, clusterId })
  expect(await stopped(founding)).toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  await founding.store.close()
  const free = await opening({ id: 'a', dir: fresh })
  await free.ready()
  for (const bad of ['', 'a b', 7]) {
    await expect(open({ id: 'a', memory: true, clusterId: bad as string })).rejects.toThrow(TypeError)
  }
})
